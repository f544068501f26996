(** Sizes at which many_hops_stack.v applies, for every L: all powers of one T.  So for every
    fixed L there is e such that, for all large n, a stack with kappa < L errs on some
    composition of L hops with at most n tokens, unless its replies, or all its states
    together, have more than n^(1/e) bits. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting rectangle many_hops many_hops_stack.
From Limen Require depth_rule.

Fixpoint prod (l : list nat) : nat := match l with [] => 1 | n :: l => n * prod l end.

Lemma le_mul_r a b c : a <= b -> 1 <= c -> a <= b * c.
Proof. intros H H'. transitivity (b * 1); [lia|apply Nat.mul_le_mono_l, H']. Qed.
Lemma le_mul_l a b c : a <= b -> 1 <= c -> a <= c * b.
Proof. intros H H'. rewrite Nat.mul_comm. apply le_mul_r; assumption. Qed.

Section Build.
Variables w s lam : nat.
Variables Lam T' T : nat.      (* Lam >= 2 lam divides T *)
Hypothesis HT' : T = Lam * T'.
Hypothesis HLam : 2 * lam <= Lam.
Hypothesis HLam2 : 2 <= Lam.
Variable most_k : nat.
Hypothesis HT : forall k, k <= most_k -> 32 * (w + s + 1) * (k + 2) * (2 * Lam) ^ (k + 1) <= T.

(** (n_l, x_l) for the last levels: x_l exceeds all later n, and n_l all x from x_l on. *)
Fixpoint build (j : nat) : list (nat * nat) :=
  match j with
  | 0 => []
  | S j => let r := build j in let x := T * prod (map fst r) in
           (T * (x * prod (map snd r)), x) :: r
  end.

Lemma T_0 : 64 * (w + s + 1) * (2 * Lam) <= T.
Proof. pose proof (HT 0 (Nat.le_0_l _)) as H. rewrite !Nat.add_0_l, Nat.pow_1_r in H. lia. Qed.
Lemma T_pos : 0 < T.
Proof.
  pose proof T_0 as H. assert (1 <= 64 * (w + s + 1) * (2 * Lam)) by (apply le_mul_r; lia). lia.
Qed.
Lemma build_pos j : 0 < prod (map fst (build j)) /\ 0 < prod (map snd (build j)).
Proof.
  pose proof T_pos. induction j as [|j [I1 I2]]; simpl; [lia|].
  split; repeat apply Nat.mul_pos_pos; assumption.
Qed.

(** What T is enough for. *)
Lemma T_1 : 16 * Lam <= T /\ 16 * (1 + s) <= T.
Proof.
  pose proof T_0 as H. split; (etransitivity; [|exact H]).
  - transitivity (8 * (2 * Lam)); [lia|apply Nat.mul_le_mono_r; lia].
  - apply le_mul_r; lia.
Qed.
Lemma Lam_pow k : 1 <= Lam ^ k.
Proof. pose proof (Nat.pow_nonzero Lam k). lia. Qed.
Lemma T_3 k : k <= most_k -> 16 * (w * (k + 2)) * Lam ^ (k + 1) <= T.
Proof.
  intros Hk. etransitivity; [|apply (HT k Hk)].
  pose proof (Nat.pow_le_mono_l Lam (2 * Lam) (k + 1) ltac:(lia)) as P.
  apply Nat.mul_le_mono; [|exact P]. rewrite Nat.mul_assoc. apply Nat.mul_le_mono_r. lia.
Qed.
Lemma T_4 k : k <= most_k -> 16 * (w * (k + 2)) * Lam <= T.
Proof.
  intros Hk. etransitivity; [|apply (T_3 k Hk)]. apply Nat.mul_le_mono_l.
  rewrite Nat.pow_add_r, Nat.pow_1_r. apply le_mul_l; [lia|apply Lam_pow].
Qed.
Lemma T_5 k : k <= most_k -> 32 * w * Lam * (2 * Lam) ^ k <= T.
Proof.
  intros Hk. etransitivity; [|apply (HT k Hk)]. rewrite Nat.pow_add_r, Nat.pow_1_r.
  set (P := (2 * Lam) ^ k). transitivity (32 * w * (P * Lam)); [apply Nat.eq_le_incl; ring|].
  apply Nat.mul_le_mono; [apply le_mul_r; lia|]. apply Nat.mul_le_mono_l. lia.
Qed.

(** The budget of the next stage.  q = n theta entries are asked for, q = Lam g. *)
Lemma budget k delta u p g x X P n' N :
  k <= most_k -> 0 < g -> 0 < x -> 0 < X -> 0 < P ->
  x = T * P -> n' = T * (x * X) -> N = Lam ^ (k + 1) * (g * (x * X)) ->
  2 * (delta + 2) <= Lam * g -> u <= Lam * g -> u + p <= 2 * (Lam * g) * (n' * P) * (2 * Lam) ^ k ->
  2 * (lost w w s k N delta u p x + 2) <= n' * (g * x).
Proof.
  intros Hk Hg Hx HX HP Ex En EN Hd Hu Hp. unfold lost.
  pose proof T_pos as PT. destruct T_1 as [T1 T2]. pose proof (T_3 k Hk) as T3. pose proof (T_4 k Hk) as T4.
  pose proof (T_5 k Hk) as T5.
  assert (Hn' : T <= n') by (rewrite En; apply le_mul_r; [lia|apply Nat.mul_pos_pos; assumption]).
  assert (Hgx : 0 < g * x) by (apply Nat.mul_pos_pos; assumption).
  assert (A1 : 8 * (2 * (delta + 2) * (x + 1)) <= n' * (g * x)).
  { transitivity (8 * (Lam * g * (2 * x))); [apply Nat.mul_le_mono_l, Nat.mul_le_mono; lia|].
    transitivity (16 * Lam * (g * x)); [apply Nat.eq_le_incl; ring|]. apply Nat.mul_le_mono_r. lia. }
  assert (A2 : 8 * (2 * (1 + s)) <= n' * (g * x)) by (apply le_mul_r; lia).
  assert (A3 : 8 * (2 * (w * (k + 2)) * (x * N)) <= n' * (g * x)).
  { rewrite En, EN.
    transitivity (16 * (w * (k + 2)) * Lam ^ (k + 1) * (x * X * (g * x))); [apply Nat.eq_le_incl; ring|].
    rewrite <- (Nat.mul_assoc T). apply Nat.mul_le_mono_r. exact T3. }
  assert (A4 : 8 * (2 * (w * (k + 2)) * (x * u)) <= n' * (g * x)).
  { transitivity (8 * (2 * (w * (k + 2)) * (x * (Lam * g)))).
    - apply Nat.mul_le_mono_l, Nat.mul_le_mono_l, Nat.mul_le_mono_l, Hu.
    - transitivity (16 * (w * (k + 2)) * Lam * (g * x)); [apply Nat.eq_le_incl; ring|].
      apply Nat.mul_le_mono_r. lia. }
  assert (A5 : 8 * (2 * w * p) <= n' * (g * x)).
  { transitivity (8 * (2 * w * (2 * (Lam * g) * (n' * P) * (2 * Lam) ^ k))).
    - apply Nat.mul_le_mono_l, Nat.mul_le_mono_l. lia.
    - rewrite Ex. transitivity (32 * w * Lam * (2 * Lam) ^ k * (n' * (g * P))); [apply Nat.eq_le_incl; ring|].
      transitivity (T * (n' * (g * P))); [apply Nat.mul_le_mono_r, T5|apply Nat.eq_le_incl; ring]. }
  assert (E : 2 * (delta + 1 + (delta + 2) * x + s + (w + w * (k + 1)) * (x * (N + u)) + w * p + 2)
            = 2 * (delta + 2) * (x + 1) + 2 * (1 + s) + 2 * (w * (k + 2)) * (x * N)
              + 2 * (w * (k + 2)) * (x * u) + 2 * w * p) by ring.
  rewrite E. clear E. lia.
Qed.

Lemma build_fits j : forall k n V delta theta u p, k + j <= S most_k ->
  let r := build j in
  0 < n -> 0 < theta -> Nat.divide Lam (n * theta) ->
  2 * (delta + 2) <= n * theta -> V = theta * prod (map snd r) * Lam ^ k ->
  u <= n * theta -> u + p <= 2 * (n * theta) * prod (map fst r) * (2 * Lam) ^ k ->
  n * V * prod (map fst r) <= 2 ^ lam ->
  exists plan, fits w w s lam 1 k V delta theta u p (n :: map fst r) plan.
Proof.
  induction j as [|j IH]; intros k n V delta theta u p Hk r Hn Ht Hdiv Hd HV Hu Hp Hl.
  - exists []. simpl in *. pose proof (Lam_pow k). assert (theta <= V) by (rewrite HV; apply le_mul_r; lia).
    assert (n * theta <= n * V) by (apply Nat.mul_le_mono_l; assumption). repeat split; lia.
  - destruct Hdiv as [g Eg]. rewrite (Nat.mul_comm g) in Eg.
    pose proof (build_pos j) as [PP PX]. set (r' := build j) in *.
    set (P := prod (map fst r')) in *. set (X := prod (map snd r')) in *.
    set (x := T * P). set (n' := T * (x * X)).
    assert (Er : r = (n', x) :: r') by reflexivity.
    rewrite Er in *. cbn [map fst snd prod] in *. fold P in Hp, Hl. fold X in HV.
    pose proof T_pos as PT. assert (Px : 0 < x) by (apply Nat.mul_pos_pos; assumption).
    assert (Pg : 0 < g) by (destruct g; lia).
    assert (Pn' : 0 < n') by (repeat apply Nat.mul_pos_pos; assumption).
    assert (EN : n * V = Lam ^ (k + 1) * (g * (x * X))).
    { rewrite HV, Nat.pow_add_r, Nat.pow_1_r.
      transitivity (n * theta * (x * X * Lam ^ k)); [ring|]. rewrite Eg. ring. }
    assert (PN : 0 < n * V).
    { rewrite EN. pose proof (Lam_pow (k + 1)). repeat apply Nat.mul_pos_pos; auto; lia. }
    rewrite Eg in Hd, Hu, Hp.
    assert (B : 2 * (lost w w s k (n * V) delta u p x + 2) <= n' * (g * x)).
    { apply (budget k delta u p g x X P n' (n * V)); auto; lia. }
    destruct (IH (S k) n' (n * V) (lost w w s k (n * V) delta u p x) (g * x) 0 (x * (n * V + u + p)))
      as [plan Hplan]; fold r'; fold P; fold X.
    + lia.
    + exact Pn'.
    + apply Nat.mul_pos_pos; assumption.
    + exists (T' * (x * X) * (g * x)). unfold n'. rewrite HT'. ring.
    + exact B.
    + rewrite EN, Nat.pow_succ_r', Nat.pow_add_r, Nat.pow_1_r. ring.
    + lia.
    + rewrite Nat.add_0_l.
      assert (C1 : x * (n * V) <= n' * (g * x) * P * (2 * Lam) ^ S k).
      { rewrite EN. unfold n' at 1. transitivity (x * X * (g * x) * Lam ^ (k + 1)); [apply Nat.eq_le_incl; ring|].
        transitivity (T * (x * X) * (g * x) * P * Lam ^ (k + 1)).
        - apply Nat.mul_le_mono_r. transitivity (T * P * (x * X * (g * x))); [|apply Nat.eq_le_incl; ring].
          apply le_mul_l; [lia|apply Nat.mul_pos_pos; assumption].
        - apply Nat.mul_le_mono_l. replace (k + 1) with (S k) by lia. apply Nat.pow_le_mono_l. lia. }
      assert (C2 : x * (u + p) <= n' * (g * x) * P * (2 * Lam) ^ S k).
      { etransitivity; [apply Nat.mul_le_mono_l, Hp|]. rewrite Nat.pow_succ_r'. apply Nat.eq_le_incl. ring. }
      set (Y := n' * (g * x)) in *. set (W := (2 * Lam) ^ S k) in *.
      transitivity (x * (n * V) + x * (u + p)); [apply Nat.eq_le_incl; ring|].
      transitivity (Y * P * W + Y * P * W); [lia|apply Nat.eq_le_incl; ring].
    + etransitivity; [|exact Hl]. apply Nat.eq_le_incl. ring.
    + exists ((x, g, 1) :: plan). cbn [fits]. rewrite Nat.pow_1_r, Nat.mul_1_l. split; [exact PN|]. split; [exact Px|]. split; [exact Pg|].
      assert (PL : 2 <= Lam ^ (k + 1)).
      { rewrite Nat.pow_add_r, Nat.pow_1_r. apply le_mul_l; [exact HLam2|apply Lam_pow]. }
      split.
      { rewrite EN. transitivity (Lam ^ (k + 1) * (g * x)); [apply Nat.mul_le_mono_r, PL|].
        apply Nat.mul_le_mono_l, Nat.mul_le_mono_l, le_mul_r; lia. }
      split; [transitivity (n * V * (n' * P)); [apply le_mul_r; [lia|apply Nat.mul_pos_pos; assumption]|exact Hl]|].
      split; [|exact Hplan]. rewrite Eg.
      assert (Q1 : 2 * (lam * (g - 1)) <= Lam * g)
        by (rewrite Nat.mul_assoc; apply Nat.mul_le_mono; [exact HLam|lia]).
      lia.
Qed.

(** The whole task: n_0 = 1. *)
Definition task_ns (j : nat) : list nat := 1 :: map fst (build j).
Definition task_x0 (j : nat) : nat := T * prod (map fst (build j)).
Definition task_m (j : nat) : nat := task_x0 j * prod (map snd (build j)).
Lemma parts_length ns : length (parts ns) = prod ns.
Proof.
  unfold parts. rewrite boxes_length, map_map. induction ns as [|n ns IH]; [reflexivity|].
  cbn [map]. change (lprod (?a :: ?l)) with (a * lprod l). rewrite IH, seq_length. reflexivity.
Qed.
Lemma task_fits j : j <= most_k -> task_m j * prod (map fst (build j)) <= 2 ^ lam ->
  exists plan, fits w w s lam 1 0 (task_m j) (s + w * length (parts (task_ns j))) (task_x0 j) (task_x0 j)
    (task_x0 j * length (parts (task_ns j))) (task_ns j) plan.
Proof.
  intros Hj Hl. pose proof (build_pos j) as [PP PX]. pose proof T_pos as PT.
  rewrite parts_length. unfold task_ns. cbn [prod]. rewrite !Nat.mul_1_l. unfold task_m, task_x0 in *.
  set (P := prod (map fst (build j))) in *. set (X := prod (map snd (build j))) in *.
  assert (T6 : 4 * (w + s + 2) <= T).
  { etransitivity; [|exact T_0]. apply le_mul_r; lia. }
  apply (build_fits j); fold P; fold X; rewrite ?Nat.mul_1_l; try lia.
  - exists (T' * P). rewrite HT'. ring.
  - transitivity (4 * (w + s + 2) * P).
    { transitivity (2 * (w * P + (s + 2) * P)); [|lia].
      assert (s + 2 <= (s + 2) * P) by (apply le_mul_r; lia). lia. }
    apply Nat.mul_le_mono_r, T6.
  - rewrite Nat.pow_0_r. lia.
  - rewrite Nat.pow_0_r. assert (T * P <= T * P * P) by (apply le_mul_r; lia). lia.
Qed.
End Build.

(** ** How large that is: powers of T, whose exponents depend on L alone. *)
Fixpoint exponents (j : nat) : nat * nat :=      (* of the product of the n, of the x *)
  match j with
  | 0 => (0, 0)
  | S j => let (P, X) := exponents j in let X' := 1 + P + X in (1 + X' + P, X')
  end.
Lemma build_powers T j : prod (map fst (build T j)) = T ^ fst (exponents j) /\
  prod (map snd (build T j)) = T ^ snd (exponents j).
Proof.
  induction j as [|j [I1 I2]]; [split; reflexivity|]. cbn [build map fst snd prod exponents].
  rewrite I1, I2. destruct (exponents j) as [P X]. cbn [fst snd]. rewrite !Nat.pow_add_r, !Nat.pow_1_r. split; ring.
Qed.
Definition whole (j : nat) : nat := let (P, X) := exponents j in 1 + P + X + P.
Lemma task_power T j : task_m T j * prod (map fst (build T j)) = T ^ whole j.
Proof.
  unfold task_m, task_x0, whole. destruct (build_powers T j) as [-> ->]. destruct (exponents j) as [P X].
  cbn [fst snd]. rewrite !Nat.pow_add_r, Nat.pow_1_r. reflexivity.
Qed.
Lemma prod_pos ns : Forall (lt 0) ns -> 0 < prod ns.
Proof. induction 1; simpl; [lia|]. apply Nat.mul_pos_pos; assumption. Qed.
Lemma size_le ns : Forall (lt 0) ns -> forall V, size V ns <= length ns * (V * prod ns).
Proof.
  induction 1 as [|n ns Hn Hns IH]; intros V; simpl; [lia|]. specialize (IH (n * V)).
  apply prod_pos in Hns. assert (n * V <= n * V * prod ns) by (apply le_mul_r; lia).
  replace (V * (n * prod ns)) with (n * V * prod ns) by ring. lia.
Qed.
Lemma build_positive T j : 0 < T -> Forall (lt 0) (map fst (build T j)) /\ Forall (lt 0) (map snd (build T j)).
Proof.
  intros HT. induction j as [|j [I1 I2]]; [split; constructor|]. cbn [build map fst snd].
  pose proof (prod_pos _ I1). pose proof (prod_pos _ I2).
  split; constructor; auto; repeat apply Nat.mul_pos_pos; auto.
Qed.

(** 2^k exceeds every power of k. *)
Lemma power_wins d : forall c, exists k0, forall k, k0 <= k -> c * k ^ d <= 2 ^ k.
Proof.
  induction d as [|d IH]; intros c.
  - exists c. intros k Hk. rewrite Nat.pow_0_r. pose proof (Nat.pow_gt_lin_r 2 k). lia.
  - destruct (IH (c * 3 ^ S d)) as [k1 H1]. exists (2 * k1 + 2). intros k Hk.
    set (h := k / 2). pose proof (Nat.div_mod k 2 ltac:(lia)) as E. fold h in E.
    pose proof (Nat.mod_upper_bound k 2 ltac:(lia)).
    assert (Hh : k1 <= h) by lia. assert (H3 : k <= 3 * h) by lia.
    transitivity (c * (3 * h) ^ S d); [apply Nat.mul_le_mono_l, Nat.pow_le_mono_l, H3|].
    rewrite Nat.pow_mul_l, (Nat.pow_succ_r' h).
    transitivity (c * 3 ^ S d * h ^ d * h); [apply Nat.eq_le_incl; ring|].
    transitivity (2 ^ h * 2 ^ h).
    + apply Nat.mul_le_mono; [apply H1, Hh|]. pose proof (Nat.pow_gt_lin_r 2 h). lia.
    + rewrite <- Nat.pow_add_r. apply Nat.pow_le_mono_r; lia.
Qed.

Lemma stack_size_le {H} (ls : list (layer H)) n n' w s : n' <= n -> stack_size ls n w s -> stack_size ls n' w s.
Proof.
  intros Hn [Hw Hs]. split.
  - intros l Hl Hf. destruct (Hw l Hl Hf) as [Lw [H1 H2]]. exists Lw. split; [exact H1|]. intros h past Hp. apply H2.
    lia.
  - intros t Ht. apply Hs. lia.
Qed.

(** Sizes for one k: T = 4^k, as long as 2^k exceeds a polynomial in k. *)
Section OneSize.
Variables j k : nat.
Let L := S j.
Let lam := 2 * k * whole j.
Hypothesis Hk : 1 <= k.
Hypothesis big : 128 * (L + 2) * (16 * whole j) ^ (L + 1) * k ^ (L + 1) <= 2 ^ k.
Let T := 2 ^ (2 * k).
Let Lam := 2 ^ S (Nat.log2_up lam).
Lemma whole_pos : 1 <= whole j. Proof. unfold whole. destruct (exponents j). lia. Qed.
Lemma lam_ge : 2 <= lam. Proof. unfold lam. pose proof whole_pos. nia. Qed.
Lemma Lam_le : Lam <= 4 * lam.
Proof.
  unfold Lam. pose proof lam_ge as G. destruct (Nat.log2_up_spec lam ltac:(lia)) as [H _].
  assert (P : 0 < Nat.log2_up lam) by (apply Nat.log2_up_pos; lia).
  destruct (Nat.log2_up lam) as [|h]; [lia|]. simpl pred in H. rewrite !Nat.pow_succ_r'. lia.
Qed.
Lemma Lam_ge : 2 * lam <= Lam.
Proof.
  unfold Lam. rewrite Nat.pow_succ_r'. pose proof lam_ge. apply Nat.mul_le_mono_l.
  destruct (Nat.log2_up_spec lam ltac:(lia)) as [_ H']. exact H'.
Qed.
Lemma T_large w s i : w <= 2 ^ k -> s <= 2 ^ k -> i <= j ->
  32 * (w + s + 1) * (i + 2) * (2 * Lam) ^ (i + 1) <= T.
Proof.
  intros Hw Hs Hi. assert (P : 1 <= 2 ^ k) by (pose proof (Nat.pow_nonzero 2 k); lia).
  transitivity (128 * 2 ^ k * (L + 2) * (16 * whole j * k) ^ (L + 1)).
  - apply Nat.mul_le_mono; [apply Nat.mul_le_mono; unfold L; lia|].
    transitivity ((16 * whole j * k) ^ (i + 1)).
    + apply Nat.pow_le_mono_l. pose proof Lam_le. unfold lam in *. lia.
    + apply Nat.pow_le_mono_r; [pose proof whole_pos; nia|unfold L; lia].
  - rewrite Nat.pow_mul_l. unfold T. replace (2 * k) with (k + k) by lia. rewrite (Nat.pow_add_r 2 k k).
    transitivity (2 ^ k * (128 * (L + 2) * (16 * whole j) ^ (L + 1) * k ^ (L + 1))); [apply Nat.eq_le_incl; ring|].
    apply Nat.mul_le_mono_l, big.
Qed.
Lemma Lam_divides : T = Lam * 2 ^ (2 * k - S (Nat.log2_up lam)).
Proof.
  unfold T, Lam. rewrite <- Nat.pow_add_r. f_equal.
  assert (S (Nat.log2_up lam) <= 2 * k); [|lia]. apply (Nat.pow_le_mono_r_iff 2); [lia|]. fold Lam.
  pose proof (T_large 0 0 0 ltac:(lia) ltac:(lia) ltac:(lia)) as G. rewrite Nat.add_0_l, Nat.pow_1_r in G.
  unfold T in G. lia.
Qed.
Lemma task_size : size (task_m T j) (task_ns T j) + 2 <= 2 ^ ((j + 3 + 2 * whole j) * k).
Proof.
  assert (PT : 0 < T) by (unfold T; pose proof (Nat.pow_nonzero 2 (2 * k)); lia).
  assert (F : Forall (lt 0) (task_ns T j)).
  { constructor; [lia|]. apply (build_positive T j PT). }
  pose proof (size_le (task_ns T j) F (task_m T j)) as G. unfold task_ns in G at 2 3.
  cbn [length prod] in G. rewrite Nat.mul_1_l, task_power, map_length in G.
  assert (LB : length (build T j) = j) by (clear; induction j as [|i IH]; simpl; auto).
  rewrite LB in G. unfold T in G at 3. rewrite <- Nat.pow_mul_r in G.
  set (e := 2 * k * whole j) in *. assert (P : 1 <= 2 ^ e) by (pose proof (Nat.pow_nonzero 2 e); lia).
  transitivity ((j + 3) * 2 ^ e); [lia|].
  transitivity (2 ^ (j + 3) * 2 ^ e); [apply Nat.mul_le_mono_r; pose proof (Nat.pow_gt_lin_r 2 (j + 3)); lia|].
  rewrite <- Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. unfold e. nia.
Qed.
Lemma task_length : length (task_ns T j) = L.
Proof.
  unfold task_ns, L. cbn [length]. rewrite map_length. f_equal. clear. induction j as [|i IH]; simpl; auto.
Qed.
Lemma task_plan w s : w <= 2 ^ k -> s <= 2 ^ k ->
  task_x0 T j <= task_m T j /\ exists plan, fits w w s lam 1 0 (task_m T j) (s + w * length (parts (task_ns T j)))
    (task_x0 T j) (task_x0 T j) (task_x0 T j * length (parts (task_ns T j))) (task_ns T j) plan.
Proof.
  intros Hw Hs. split.
  - unfold task_m. apply le_mul_r; [lia|].
    assert (PT : 0 < T) by (unfold T; pose proof (Nat.pow_nonzero 2 (2 * k)); lia).
    apply prod_pos, (build_positive T j PT).
  - apply (task_fits w s lam Lam (2 ^ (2 * k - S (Nat.log2_up lam))) T Lam_divides Lam_ge) with (most_k := j).
    + pose proof Lam_ge. pose proof lam_ge. lia.
    + intros i Hi. apply T_large; assumption.
    + lia.
    + rewrite task_power. unfold T. rewrite <- Nat.pow_mul_r. apply Nat.le_refl.
Qed.
End OneSize.

(** For every L, sizes of at most 2^(e k) tokens at which replies and states of 2^k bits are too few. *)
Theorem sizes_exist L : 0 < L -> exists e k0, 0 < e /\ forall k, k0 <= k -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= 2 ^ (e * k) /\
  forall w s, w <= 2 ^ k -> s <= 2 ^ k -> exists x0 plan lam, x0 <= m /\
    fits w w s lam 1 0 m (s + w * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan.
Proof.
  intros HL. destruct L as [|j]; [lia|].
  destruct (power_wins (S j + 1) (128 * (S j + 2) * (16 * whole j) ^ (S j + 1))) as [k1 Hk1].
  exists (j + 3 + 2 * whole j), (k1 + 1). split; [lia|]. intros k Hk.
  exists (task_m (2 ^ (2 * k)) j), (task_ns (2 ^ (2 * k)) j). split; [|split; [reflexivity|split]].
  - apply task_length.
  - apply task_size; [lia|apply Hk1; lia].
  - intros w s Hw Hs. destruct (task_plan j k ltac:(lia) (Hk1 k ltac:(lia)) w s Hw Hs) as [Hx [plan Hf]].
    exists (task_x0 (2 ^ (2 * k)) j), plan, (2 * k * whole j). split; assumption.
Qed.

(** The same in n: from some length on there are sizes of at most n tokens, at which n^(1/e) bits are too few. *)
Theorem sizes_everywhere L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall w s, w ^ e <= n -> s ^ e <= n -> exists x0 plan lam, x0 <= m /\
    fits w w s lam 1 0 m (s + w * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan.
Proof.
  intros HL. destruct (sizes_exist L HL) as [e [k0 [He Hall]]].
  exists (2 * e), (2 ^ (e * (k0 + 1))). split; [lia|]. intros n Hn.
  assert (Pn : 0 < n) by (pose proof (Nat.pow_nonzero 2 (e * (k0 + 1))); lia).
  set (k := Nat.log2 n / e). destruct (Nat.log2_spec n Pn) as [L1 L2].
  pose proof (Nat.div_mod (Nat.log2 n) e ltac:(lia)) as E. fold k in E.
  pose proof (Nat.mod_upper_bound (Nat.log2 n) e ltac:(lia)) as U.
  assert (Kk : k0 + 1 <= k).
  { apply Nat.div_le_lower_bound; [lia|]. apply Nat.log2_le_pow2; assumption. }
  assert (Up : n < (2 ^ k) ^ (2 * e)).
  { eapply Nat.lt_le_trans; [exact L2|]. rewrite <- Nat.pow_mul_r. apply Nat.pow_le_mono_r; [lia|]. nia. }
  assert (Small : forall v, v ^ (2 * e) <= n -> v <= 2 ^ k).
  { intros v Hv. destruct (le_lt_dec v (2 ^ k)) as [G|G]; [exact G|exfalso].
    pose proof (Nat.pow_le_mono_l (2 ^ k) v (2 * e) ltac:(lia)). lia. }
  destruct (Hall k ltac:(lia)) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns.
  assert (Hsz : size m ns + 2 <= n).
  { etransitivity; [exact H3|]. etransitivity; [|exact L1]. apply Nat.pow_le_mono_r; lia. }
  repeat (split; [assumption|]). intros w s Hw Hs. apply H4; auto.
Qed.

(** The depth that is needed, for every fixed L: from some length on there is a composition of at most n
    tokens on which every stack with kappa < L errs, unless its replies have more than n^(1/e) bits, or all
    its states together; whatever the type H of what tokens hold, so its width, its key sizes, its MLPs.
    The sizes m and ns depend on n, L alone: one task for all stacks. *)
Theorem depth_is_needed L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) w s,
    kappa ls < L -> w ^ e <= n -> s ^ e <= n -> stack_size ls n w s ->
    errs tok tok0 tokw read ls m ns.
Proof.
  intros HL. destruct (sizes_everywhere L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
  destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
  intros H tok tok0 tokw read ls w s HR Hw Hs Hsize. destruct (H4 w s Hw Hs) as [x0 [plan [lam [Hx Hf]]]].
  eapply stack_errs; [right; split; [rewrite H1; exact HR|apply Nat.le_refl]| |exact Hx|exact Hf].
  apply (stack_size_le ls n); [lia|exact Hsize].
Qed.

(** The two theorems of the papers. *)
Lemma kappa_le {H} (ls : list (layer H)) : kappa ls <= phi ls.
Proof.
  unfold kappa, depth_rule.kappa, depth_rule.reach. rewrite phi_full. destruct (depth_rule.early 0 (map kind ls)); lia.
Qed.
Lemma kappa_full {H} (ls : list (layer H)) : (forall l, In l ls -> is_full l = true) -> kappa ls = length ls - 1.
Proof.
  intros Hf. unfold kappa, depth_rule.kappa, depth_rule.reach. rewrite phi_full. unfold phi.
  rewrite (filter_all is_full ls Hf).
  assert (E : forall seen, depth_rule.early seen (map kind ls) = false).
  { induction ls as [|l ls IH]; intros seen; [reflexivity|]. simpl. unfold kind at 1.
    rewrite (Hf l (or_introl eq_refl)). apply IH. intros l' Hl'. apply Hf. right. exact Hl'. }
  rewrite E. lia.
Qed.
(** The setting of Ye et al. 2026: at most L - 1 full layers, linear layers anywhere, ALL their states
    together of few bits. *)
Corollary hybrid_depth L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) w s,
    phi ls <= L - 1 -> w ^ e <= n -> s ^ e <= n -> stack_size ls n w s ->
    errs tok tok0 tokw read ls m ns.
Proof.
  intros HL. destruct (depth_is_needed L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
  destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
  intros H tok tok0 tokw read ls w s HR. apply H4. pose proof (kappa_le ls). lia.
Qed.
(** The same with s bits for the state of EACH layer: they add up.  Without this, "any number of linear
    layers of s bits each" would be false: see [pile] in many_hops_attained.v. *)
Corollary hybrid_depth_layers L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) w s,
    phi ls <= L - 1 -> w ^ e <= n -> (length ls * s) ^ e <= n ->
    (forall l, In l ls -> is_full l = true -> reply_size l n w) -> (forall l, In l ls -> layer_state_size l n s) ->
    errs tok tok0 tokw read ls m ns.
Proof.
  intros HL. destruct (hybrid_depth L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
  destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
  intros H tok tok0 tokw read ls w s HF Hw Hs Hr Hst. apply (H4 H tok tok0 tokw read ls w (length ls * s)); auto.
  split; [exact Hr|]. replace (length ls * s) with (list_sum (repeat s (length ls))).
  2: { clear. induction (length ls) as [|k IH]; simpl; [reflexivity|]. rewrite IH. reflexivity. }
  apply state_size_sum. clear - Hst. induction ls as [|l ls IH]; simpl; constructor; [apply Hst; left; reflexivity|].
  apply IH. intros l' Hl'. apply Hst. right. exact Hl'.
Qed.
(** The setting of Chen, Peng, Wu 2025: L full layers, here with linear heads beside those that attend, too. *)
Corollary full_depth L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) w s,
    (forall l, In l ls -> is_full l = true) -> length ls <= L -> w ^ e <= n -> s ^ e <= n -> stack_size ls n w s ->
    errs tok tok0 tokw read ls m ns.
Proof.
  intros HL. destruct (depth_is_needed L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
  destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
  intros H tok tok0 tokw read ls w s Hf HR. apply H4. rewrite (kappa_full ls Hf). lia.
Qed.
