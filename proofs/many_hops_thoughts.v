(** Thinking aloud: a stack that writes T tokens after the text, each any function of all that the one before
    holds (so latent thoughts as wide as one likes, of which words of a vocabulary are a part), has T phi
    levels more, and no others.  So kappa + T phi < L is not enough for L hops; that kappa + T phi >= L is,
    is in many_hops_can.v. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state rectangle many_hops many_hops_stack many_hops_sizes.
From Limen Require depth_rule.

Section Thoughts.
Context {H : Type}.

(** The text with i thoughts after it. *)
Fixpoint thinking (ls : list (layer H)) (think : nat -> option H -> H) (i : nat) (xs : list H) : list H :=
  match i with
  | 0 => xs
  | S i => let ys := thinking ls think i xs in ys ++ [think i (holds ls ys)]
  end.
(** The answer is read at the last thought. *)
Definition thought_answer (read : H -> nat) (ls : list (layer H)) think (T : nat) (xs : list H) : nat :=
  answer read ls (thinking ls think T xs).

(** ** States stay the same where tokens are told the same. *)
Lemma same_states_sym (ls : list (layer H)) : forall a b, same_states ls a b -> same_states ls b a.
Proof. induction ls as [|l ls IH]; intros a b E; simpl in *; [exact I|]. destruct E. split; auto. Qed.
Lemma same_states_trans (ls : list (layer H)) : forall a b c,
  same_states ls a b -> same_states ls b c -> same_states ls a c.
Proof.
  induction ls as [|l ls IH]; intros a b c E E'; simpl in *; [exact I|]. destruct E, E'. split; [congruence|eauto].
Qed.
Lemma after_app (l : layer H) a b : forall q, after l q (a ++ b) = after l (after l q a) b.
Proof. induction a as [|h a IH]; intros q; simpl; auto. Qed.
Lemma run_layer_app (l : layer H) r y : run_layer l (r ++ y) = run_layer l r ++ go l (after l (st0 (memory l)) r) r y.
Proof. unfold run_layer. rewrite go_app. reflexivity. Qed.
Lemma linear_tokens (lins : list (layer H)) : (forall l, In l lins -> is_full l = false) -> forall r r' y,
  same_states lins r r' -> tail lins r y = tail lins r' y /\ same_states lins (r ++ y) (r' ++ y).
Proof.
  induction lins as [|l lins IH]; intros Hl r r' y E; simpl in *; [auto|]. destruct E as [E E'].
  rewrite !run_layer_app, !after_app, E, (go_same' l _ r r') by (intros h _; apply told_linear, Hl; auto).
  destruct (IH (fun l' Hl' => Hl l' (or_intror Hl')) _ _ (go l (after l (st0 (memory l)) r') r' y) E') as [G1 G2].
  auto.
Qed.
Lemma full_tokens (f : layer H) lins r r' y : (forall l, In l lins -> is_full l = false) ->
  (forall h, In h y -> told f h r = told f h r') -> same_states (f :: lins) r r' ->
  tail (f :: lins) r y = tail (f :: lins) r' y /\ same_states (f :: lins) (r ++ y) (r' ++ y).
Proof.
  intros Hl Ht E. simpl in *. destruct E as [E E'].
  rewrite !run_layer_app, !after_app, E, (go_same' f _ r r') by exact Ht.
  destruct (linear_tokens lins Hl _ _ (go f (after f (st0 (memory f)) r') r' y) E') as [G1 G2]. auto.
Qed.
Lemma map_Some_inj {A} (l l' : list A) : map Some l = map Some l' -> l = l'.
Proof.
  revert l'. induction l as [|a l IH]; intros [|b l'] G; try discriminate; [reflexivity|].
  simpl in G. injection G as -> G. f_equal. apply IH, G.
Qed.
Lemma tail_one (A : list (layer H)) c t : map Some (tail A c [t]) = [holds A (c ++ [t])].
Proof. apply (tail_holds A c [t]). Qed.

Variables (ls : list (layer H)) (think : nat -> option H -> H).
Variables n w s : nat.
Hypothesis Hw : forall l, In l ls -> is_full l = true -> reply_size l n w.
Hypothesis Hs : state_size ls n s.
Let F := length (filter is_full ls).
Hypothesis HF : 0 < F.
Let cot := thinking ls think.

(** The thoughts alone. *)
Fixpoint thoughts (i : nat) (xs : list H) : list H :=
  match i with 0 => [] | S i => thoughts i xs ++ [think i (holds ls (cot i xs))] end.
Lemma cot_S i xs : cot (S i) xs = cot i xs ++ [think i (holds ls (cot i xs))]. Proof. reflexivity. Qed.
Lemma cot_thoughts i xs : cot i xs = xs ++ thoughts i xs.
Proof.
  induction i as [|i IH]; [symmetry; apply app_nil_r|]. rewrite cot_S. cbn [thoughts]. rewrite IH at 1.
  symmetry. apply app_assoc.
Qed.

Lemma upto_F : upto F ls = ls. Proof. apply upto_all, Nat.le_refl. Qed.

(** What the next full layer says, as a number. *)
Definition speaks (f : nat) (say : H -> list H -> nat) : Prop :=
  (forall h past, say h past < 2 ^ w) /\
  exists seg, upto (S f) ls = upto f ls ++ seg /\
    forall rs rs' rest y, length rs = length rs' -> length rs <= n -> (forall h, In h y -> say h rs = say h rs') ->
      same_states seg (rs ++ rest) (rs' ++ rest) ->
      tail seg (rs ++ rest) y = tail seg (rs' ++ rest) y /\ same_states seg ((rs ++ rest) ++ y) ((rs' ++ rest) ++ y).
Lemma speaks_exists f : exists say, speaks f say.
Proof.
  destruct (upto_S ls f) as [E|[l [lins [E [Fl [Hl Hin]]]]]].
  - exists (fun _ _ => 0). split; [intros; pose proof (Nat.pow_nonzero 2 w); lia|].
    exists []. split; [rewrite E; symmetry; apply app_nil_r|]. intros; simpl; auto.
  - destruct (reply_code l n w (Hw l Hin Fl)) as [say [Hs1 Hs2]]. exists say. split; [exact Hs1|].
    exists (l :: lins). split; [exact E|]. intros rs rs' rest y L Hn Hy Hst.
    apply full_tokens; [exact Hl| |exact Hst]. intros h Hh. rewrite !told_app. f_equal. apply Hs2; [exact Hn|lia|auto].
Qed.

(** ** Levels: f full layers of the i-th thought are level i F + f - o. *)
Variable o : nat.
Definition agree (f : nat) (a b : list H) :
  Prop := holds (upto f ls) a = holds (upto f ls) b /\ same_states (upto f ls) a b.
Definition alike (k : nat) (a b : list H) : Prop := forall i f,
  f <= F -> i * F + f <= k + o -> agree f (cot i a) (cot i b).
Lemma alike_sym k a b : alike k a b -> alike k b a.
Proof. intros E i f Hf Hi. destruct (E i f Hf Hi) as [E1 E2]. split; [auto|apply same_states_sym, E2]. Qed.
Lemma alike_trans k a b c : alike k a b -> alike k b c -> alike k a c.
Proof.
  intros E E' i f Hf Hi. destruct (E i f Hf Hi) as [E1 E2], (E' i f Hf Hi) as [E3 E4].
  split; [congruence|eapply same_states_trans; eassumption].
Qed.

Variable say : nat -> H -> list H -> nat.
Hypothesis Hsay : forall f, f < F -> speaks f (say f).
Definition reply (k : nat) (xs v : list H) : nat :=
  let i := (k + o) / F in let f := (k + o) mod F in
  match holds (upto f ls) (cot i v) with Some h => say f h (run (upto f ls) xs) | None => 0 end.
Lemma reply_at i f k xs v : f < F -> i * F + f = k + o ->
  reply k xs v = match holds (upto f ls) (cot i v) with Some h => say f h (run (upto f ls) xs) | None => 0 end.
Proof.
  intros Hf E. unfold reply.
  rewrite <- (Nat.div_unique (k + o) F i f), <- (Nat.mod_unique (k + o) F i f) by lia. reflexivity.
Qed.
Lemma reply_small k xs v : reply k xs v < 2 ^ w.
Proof.
  unfold reply. assert (P : 0 < 2 ^ w) by (pose proof (Nat.pow_nonzero 2 w); lia).
  destruct (holds _ _); [|exact P]. apply (Hsay ((k + o) mod F)). apply Nat.mod_upper_bound. lia.
Qed.
Lemma reply_alike k xs v v' : alike k v v' -> reply k xs v = reply k xs v'.
Proof.
  intros E. unfold reply. pose proof (Nat.mod_upper_bound (k + o) F ltac:(lia)) as U.
  destruct (E ((k + o) / F) ((k + o) mod F)) as [E1 _]; [lia| |rewrite E1; reflexivity].
  rewrite Nat.mul_comm, <- Nat.div_mod by lia. lia.
Qed.

Section Step.
Variables (k : nat) (a b y : list H).     (* two texts, and what follows *)
Hypothesis Hy : y <> [].
Hypothesis Hlen : length a = length b.
Hypothesis Hn : length a <= n.
Hypothesis Hst : same_states ls a b.
Hypothesis Hv : forall v, In v (prefixes y) -> alike k (a ++ v) (b ++ v) /\ reply k a (a ++ v) = reply k b (b ++ v).
Lemma part_states f : same_states (upto f ls) a b.
Proof. destruct (upto_prefix ls f) as [rest E]. rewrite E in Hst. apply same_states_app in Hst. tauto. Qed.
Lemma alike_y : alike k (a ++ y) (b ++ y).
Proof. apply Hv, prefixes_self, Hy. Qed.

(** The tokens of y at f full layers, and the thoughts after them. *)
Lemma tokens_same f : f <= F -> f <= k + o -> tail (upto f ls) a y = tail (upto f ls) b y.
Proof. intros Hf Hk. apply same_holds. intros v Hp. apply (proj1 (Hv v Hp) 0 f); lia. Qed.
Lemma thoughts_same f : f <= F -> forall i, i * F + f <= k + o ->
  tail (upto f ls) a (y ++ thoughts i (a ++ y)) = tail (upto f ls) b (y ++ thoughts i (b ++ y)).
Proof.
  intros Hf. induction i as [|i IH]; intros Hi.
  - simpl. rewrite !app_nil_r. apply tokens_same; lia.
  - cbn [thoughts].
    rewrite (app_assoc y (thoughts i (a ++ y))), (app_assoc y (thoughts i (b ++ y))).
    rewrite (tail_app _ a (y ++ thoughts i (a ++ y))), (tail_app _ b (y ++ thoughts i (b ++ y))), IH by (simpl in Hi;
      lia).
    f_equal. rewrite (app_assoc a y), (app_assoc b y), <- !cot_thoughts. apply map_Some_inj. rewrite !tail_one. f_equal.
    apply (alike_y (S i) f Hf Hi).
Qed.
Lemma run_cot f i x : run (upto f ls) (cot i (x ++ y)) = run (upto f ls) x ++ tail (upto f ls) x (y ++ thoughts i (x ++ y)).
Proof. rewrite cot_thoughts, <- app_assoc. apply run_tail. Qed.

(** One full layer further. *)
Lemma full_step i f : f < F -> i * F + f = k + o -> agree (S f) (cot i (a ++ y)) (cot i (b ++ y)).
Proof.
  intros Hf Hi. destruct (Hsay f Hf) as [_ [seg [Eseg Hseg]]]. set (A := upto f ls) in *.
  assert (Seg : forall x x', same_states (upto (S f) ls) x x' -> same_states seg (run A x) (run A x')).
  { intros x x' E. rewrite Eseg in E. apply same_states_app in E. tauto. }
  assert (Lr : length (run A a) = length (run A b)) by (rewrite !run_length; exact Hlen).
  assert (Ln : length (run A a) <= n) by (rewrite run_length; exact Hn).
  destruct i as [|i].
  - (* the text *)
    change (cot 0 (a ++ y)) with (a ++ y). change (cot 0 (b ++ y)) with (b ++ y).
    pose proof (tokens_same f ltac:(lia) ltac:(lia)) as T. fold A in T.
    destruct (Hseg (run A a) (run A b) [] (tail A a y)) as [G1 G2]; [exact Lr|exact Ln| | |].
    + intros h Hh. assert (Hh' : In (Some h) (map Some (tail A a y))) by (apply in_map, Hh).
      rewrite tail_holds in Hh'. apply in_map_iff in Hh'. destruct Hh' as [v [Ev Hp]].
      destruct (Hv v Hp) as [E1 E2]. rewrite !(reply_at 0 f k) in E2 by lia.
      destruct (E1 0 f ltac:(lia) ltac:(lia)) as [E3 _].
      change (cot 0 (a ++ v)) with (a ++ v) in *. change (cot 0 (b ++ v)) with (b ++ v) in *.
      fold A in E2, E3. rewrite <- E3, Ev in E2. exact E2.
    + rewrite !app_nil_r. apply Seg, part_states.
    + rewrite !app_nil_r in G1, G2. split.
      * apply holds_same; [exact Hy|]. rewrite Eseg, !tail_app_layers. fold A. rewrite <- T. exact G1.
      * rewrite Eseg. fold A. apply same_states_app. split; [apply (alike_y 0 f); lia|].
        rewrite !run_tail, <- T. exact G2.
  - (* the last thought *)
    assert (Hi' : S i * F + f <= k + o) by lia.
    destruct (alike_y (S i) f ltac:(lia) Hi') as [E1 E2].
    destruct (alike_y i (S f) ltac:(lia) ltac:(simpl in Hi; lia)) as [_ E3].
    pose proof (thoughts_same f ltac:(lia) i ltac:(simpl in Hi; lia)) as T. fold A in E1, E2, T.
    pose proof (proj2 (Hv y (prefixes_self y Hy))) as Er. rewrite !(reply_at (S i) f k) in Er by lia. fold A in Er.
    rewrite !cot_S in *.
    set (c := cot i (a ++ y)) in *. set (c' := cot i (b ++ y)) in *.
    set (t := think i (holds ls c)) in *. set (t' := think i (holds ls c')) in *.
    assert (Tt : tail A c [t] = tail A c' [t']) by (apply map_Some_inj; rewrite !tail_one, E1; reflexivity).
    assert (Rc : run A c = run A a ++ tail A a (y ++ thoughts i (a ++ y))) by apply run_cot.
    assert (Rc' : run A c' = run A b ++ tail A a (y ++ thoughts i (a ++ y))) by (rewrite T; apply run_cot).
    destruct (Hseg (run A a) (run A b) (tail A a (y ++ thoughts i (a ++ y))) (tail A c [t])) as [G1 G2];
      [exact Lr|exact Ln| | |].
    + intros h Hh. assert (Hh' : In (Some h) (map Some (tail A c [t]))) by (apply in_map, Hh).
      rewrite tail_one in Hh'. destruct Hh' as [Eh|[]]. rewrite <- E1, Eh in Er. exact Er.
    + rewrite <- Rc, <- Rc'. apply Seg, E3.
    + rewrite <- Rc, <- Rc' in G1, G2. split.
      * apply (f_equal (map Some)) in G1. rewrite Tt in G1 at 2.
        rewrite <- !tail_app_layers, <- Eseg in G1. rewrite !tail_one in G1. injection G1 as G1. exact G1.
      * rewrite Eseg. fold A. apply same_states_app. split; [exact E2|]. rewrite !run_tail, <- Tt. exact G2.
Qed.
Lemma level_S : alike (S k) (a ++ y) (b ++ y).
Proof.
  intros i f Hf Hi. destruct (le_lt_dec (i * F + f) (k + o)) as [G|G]; [apply alike_y; assumption|].
  assert (E : i * F + f = S (k + o)) by lia. destruct f as [|f].
  - (* a new thought *)
    destruct i as [|i]; [simpl in E; lia|].
    destruct (full_step i (F - 1) ltac:(lia) ltac:(simpl in E; lia)) as [E1 E2].
    replace (S (F - 1)) with F in E1, E2 by lia. rewrite upto_F in E1, E2.
    destruct (alike_y i 0 ltac:(lia) ltac:(simpl in E; lia)) as [_ E3].
    rewrite !cot_S, E1. set (t := think i (holds ls (cot i (b ++ y)))).
    destruct (linear_tokens (upto 0 ls) (upto_0 ls) (cot i (a ++ y)) (cot i (b ++ y)) [t] E3) as [G1 G2].
    split; [apply holds_same; [discriminate|exact G1]|exact G2].
  - apply full_step; lia.
Qed.
End Step.

(** Level 0: what the last token holds is settled by the states and by a sum of its own. *)
Variables (w0 : nat) (raw : list H -> H -> nat).
Hypothesis raw_bits : forall xs x, raw xs x < 2 ^ w0.
Hypothesis level_0 : forall a b y x, length a = length b -> length a <= n ->
  same_states ls a b -> raw a x = raw b x -> alike 0 (a ++ y ++ [x]) (b ++ y ++ [x]).
Lemma thoughts_err tok tok0 tokw read m ns T x0 plan lam lg last_level :
  length ns = S last_level -> T * F + F <= last_level + o -> size m ns <= n -> x0 <= m ->
  fits w0 w s lam lg 0 m (s + w0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  exists z0 ws zs, z0 < m /\ In ws (parts ns) /\ In zs (tables m ns) /\
    thought_answer read ls think T (input tok tok0 tokw z0 ws zs) <> chain m z0 ns ws zs.
Proof.
  intros HL HT Hm Hx Hf. destruct (state_code _ _ _ Hs) as [number [Hn1 Hn2]].
  apply (many_hops_errs H alike) with (raw := raw) (reply := reply) (state := number) (most := n) (beta0 := w0)
    (beta := w) (sigma := s) (last_level := last_level) (x0 := x0) (plan := plan) (lam := lam) (lg := lg)
    (answer := thought_answer read ls think T); auto.
  - apply alike_sym.
  - apply alike_trans.
  - apply reply_alike.
  - intros k a b y Hy L Hn E Hv. apply level_S; auto.
  - apply reply_small.
  - intros xs xs' E. destruct (E T F (le_n F) HT) as [E1 _]. rewrite upto_F in E1.
    unfold thought_answer. rewrite !answer_holds. unfold cot in E1. rewrite E1. reflexivity.
Qed.
End Thoughts.

(** Some input is answered wrongly after T thoughts. *)
Definition thinker_errs {H} tok tok0 tokw (read : H -> nat) (ls : list (layer H)) think (T m : nat) (ns : list nat) :
  Prop :=
  exists z0 ws zs, z0 < m /\ In ws (parts ns) /\ In zs (tables m ns) /\
    thought_answer read ls think T (input tok tok0 tokw z0 ws zs) <> chain m z0 ns ws zs.

(** Linear layers alone: thoughts are the state's, however many. *)
Lemma linear_thoughts_err {H} tok tok0 tokw read (ls : list (layer H)) think T m ns w0 w s x0 plan lam lg :
  (forall l, In l ls -> is_full l = false) -> state_size ls (size m ns) s -> x0 <= m ->
  fits w0 w s lam lg 0 m (s + w0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  thinker_errs tok tok0 tokw read ls think T m ns.
Proof.
  intros Hl Hs Hx Hf. destruct ns as [|n0 ns'] eqn:En; [destruct Hf|]. rewrite <- En in *.
  destruct (state_code _ _ _ Hs) as [number [Hn1 Hn2]].
  assert (P : forall v, 0 < 2 ^ v) by (intros v; pose proof (Nat.pow_nonzero 2 v); lia).
  set (both := fun a b => holds ls a = holds ls b /\ same_states ls a b).
  apply (many_hops_errs H (fun _ a b => forall i, both (thinking ls think i a) (thinking ls think i b)))
    with (raw := fun _ _ => 0) (reply := fun _ _ _ => 0) (state := number) (most := size m ns) (beta0 := w0)
    (beta := w) (sigma := s) (last_level := length ns') (x0 := x0) (plan := plan) (lam := lam) (lg := lg)
    (answer := thought_answer read ls think T); auto.
  - intros _ a b E i. destruct (E i) as [E1 E2]. split; [auto|apply same_states_sym, E2].
  - intros _ a b c E E' i. destruct (E i) as [E1 E2], (E' i) as [E3 E4].
    split; [congruence|eapply same_states_trans; eassumption].
  - intros a b y x L Hn E _. specialize (Hn2 a b L Hn E). induction i as [|i [I1 I2]].
    + destruct (linear_tokens ls Hl a b (y ++ [x]) Hn2) as [G1 G2].
      split; [apply holds_same; [destruct y; discriminate|exact G1]|exact G2].
    + cbn [thinking]. rewrite I1.
      destruct (linear_tokens ls Hl _ _ [think i (holds ls (thinking ls think i (b ++ y ++ [x])))] I2) as [G1 G2].
      split; [apply holds_same; [discriminate|exact G1]|exact G2].
  - intros k a b y Hy _ _ _ Hv. apply (Hv y). apply prefixes_self, Hy.
  - intros a b E. unfold thought_answer. rewrite !answer_holds. destruct (E T) as [E1 _]. rewrite E1. reflexivity.
  - rewrite En. reflexivity.
Qed.

(** kappa + T phi < L is not enough; w0 as in [stack_errs]. *)
Theorem thoughts_errs {H} tok tok0 tokw read (ls : list (layer H)) think T m ns w0 w s x0 plan lam lg :
  phi ls + T * phi ls < length ns \/ (kappa ls + T * phi ls < length ns /\ w <= w0) ->
  stack_size ls (size m ns) w s -> x0 <= m ->
  fits w0 w s lam lg 0 m (s + w0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  thinker_errs tok tok0 tokw read ls think T m ns.
Proof.
  intros HR [Hw Hs] Hx Hf. unfold phi in HR. set (F := length (filter is_full ls)) in *. destruct (Nat.eq_dec F 0) as [F0|F0].
  { apply (linear_thoughts_err tok tok0 tokw read ls think T m ns w0 w s x0 plan lam lg); auto.
    intros l Hl. destruct (is_full l) eqn:E; [exfalso|reflexivity].
    assert (G : In l (filter is_full ls)) by (apply filter_In; auto). unfold F in F0.
    apply length_zero_iff_nil in F0.
    rewrite F0 in G. destruct G. }
  assert (HF : 0 < F) by lia. clear F0.
  destruct ns as [|n0 ns'] eqn:En; [destruct Hf|]. rewrite <- En in *.
  set (last_level := length ns'). assert (HL : length ns = S last_level) by (rewrite En; reflexivity).
  assert (HR' : F + T * F < length ns \/
    (F + (if depth_rule.early 0 (map kind ls) then 1 else 0) + T * F <= length ns /\ w <= w0)).
  { destruct HR as [HR|[HR Hw0]]; [left; exact HR|right; split; [|exact Hw0]].
    pose proof (kappa_lt ls T (length ns)) as G. unfold phi in G. fold F in G. apply G; [lia|exact HR]. }
  clear HR. rename HR' into HR.
  set (n := size m ns) in *.
  destruct (finite_choice (speaks ls n w) (fun _ _ => 0) F) as [say Hsay];
    [intros f _; apply (speaks_exists ls n w Hw HF)|].
  assert (P : 0 < 2 ^ w0) by (pose proof (Nat.pow_nonzero 2 w0); lia).
  destruct (le_lt_dec (F + T * F) last_level) as [Hlt|Hlt].
  - apply (thoughts_err ls think n w s Hs HF 0 say Hsay w0 (fun _ _ => 0)) with (last_level := last_level)
      (x0 := x0) (plan := plan) (lam := lam) (lg := lg); auto; try (fold F; lia).
    intros a b y x _ _ Hst _ i f Hf' Hi. fold F in Hf', Hi.
    assert (i = 0) by (destruct i; [reflexivity|simpl in Hi; lia]). subst i.
    assert (f = 0) by lia. subst f. change (thinking ls think 0 (a ++ y ++ [x])) with (a ++ y ++ [x]).
    change (thinking ls think 0 (b ++ y ++ [x])) with (b ++ y ++ [x]).
    destruct (linear_tokens (upto 0 ls) (upto_0 ls) a b (y ++ [x]) (part_states ls a b Hst 0)) as [G1 G2].
    split; [apply holds_same; [destruct y; discriminate|exact G1]|exact G2].
  - destruct HR as [HR|[HR Hw0]]; [lia|].
    destruct (depth_rule.early 0 (map kind ls)) eqn:Ee; [lia|].
    assert (Ex : exists f1 ls', ls = f1 :: ls').
    { unfold F in HF. clear - HF. destruct ls as [|l ls']; [simpl in HF; lia|eauto]. }
    destruct Ex as [f1 [ls' El]].
    assert (Ff : is_full f1 = true).
    { rewrite El in Ee. simpl in Ee. unfold kind at 1 in Ee. destruct (is_full f1); [reflexivity|discriminate]. }
    assert (U0 : upto 0 ls = []) by (rewrite El; simpl; rewrite Ff; reflexivity).
    assert (U1 : upto 1 ls = [f1]).
    { rewrite El in *. simpl in Ee. unfold kind at 1 in Ee. simpl. rewrite Ff in *. f_equal.
      destruct ls' as [|f' ls'']; [reflexivity|]. simpl in *. unfold kind at 1 in Ee.
      destruct (is_full f'); [reflexivity|discriminate]. }
    destruct (reply_code f1 n w (Hw f1 ltac:(rewrite El; left; reflexivity) Ff)) as [say1 [Hs1 Hs2]].
    apply (thoughts_err ls think n w s Hs HF 1 say Hsay w0 (fun xs x => say1 x xs)) with (last_level := last_level)
      (x0 := x0) (plan := plan) (lam := lam) (lg := lg); auto; try (fold F; lia).
    + intros xs x. eapply Nat.lt_le_trans; [apply Hs1|]. apply Nat.pow_le_mono_r; lia.
    + intros a b y x L Hn Hst Er.
      pose proof (part_states ls a b Hst 1) as Hst1. rewrite U1 in Hst1. destruct Hst1 as [Hst1 _].
      apply (Hs2 x) in Er; [|exact Hn|lia].
      assert (G1 : agree ls 1 (a ++ y ++ [x]) (b ++ y ++ [x])).
      { unfold agree. rewrite U1. split.
        - unfold holds, run. simpl fold_left. unfold run_layer.
          rewrite !(app_assoc _ y [x]), !go_last, <- !app_assoc, !told_app, Er. do 3 f_equal.
          rewrite !after_app, Hst1. reflexivity.
        - simpl. split; [|exact I]. rewrite !after_app, Hst1. reflexivity. }
      intros i f Hf' Hi. fold F in Hf', Hi. unfold agree. destruct i as [|i].
      * change (thinking ls think 0 (a ++ y ++ [x])) with (a ++ y ++ [x]).
        change (thinking ls think 0 (b ++ y ++ [x])) with (b ++ y ++ [x]).
        destruct f as [|f]; [|assert (f = 0) by lia; subst f; exact G1].
        rewrite U0. split; [|exact I]. unfold holds. simpl. rewrite !app_assoc, !map_app. simpl. rewrite !last_last.
        reflexivity.
      * assert (i = 0 /\ f = 0 /\ F = 1) as [-> [-> F1]] by (simpl in Hi; nia).
        rewrite U0. split; [|exact I]. unfold holds. simpl. rewrite !map_app. simpl. rewrite !last_last.
        assert (UL : upto 1 ls = ls) by (apply upto_all; fold F; lia).
        destruct G1 as [G1 _]. rewrite UL in G1. unfold holds in G1. unfold holds. rewrite G1. reflexivity.
Qed.

(** ** The depth rule, for every L and T: kappa + T phi < L is not enough, unless replies, or all states
    together, have polynomially many bits.  T = 0 is the stack that does not think. *)
Theorem depth_rule_cannot L : 0 < L -> exists e n0, 0 < e /\ forall n, n0 <= n -> exists m ns,
  length ns = L /\ hd 0 ns = 1 /\ size m ns + 2 <= n /\
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T w s,
    kappa ls + T * phi ls < L -> w ^ e <= n -> s ^ e <= n -> stack_size ls n w s ->
    thinker_errs tok tok0 tokw read ls think T m ns.
Proof.
  intros HL. destruct (sizes_everywhere L HL) as [e [n0 [He Hall]]]. exists e, n0. split; [exact He|]. intros n Hn.
  destruct (Hall n Hn) as [m [ns [H1 [H2 [H3 H4]]]]]. exists m, ns. repeat (split; [assumption|]).
  intros H tok tok0 tokw read ls think T w s HR Hw Hs Hsize. destruct (H4 w s Hw Hs) as [x0 [plan [lam [Hx Hf]]]].
  eapply thoughts_errs; [right; split; [rewrite H1; exact HR|apply Nat.le_refl]| |exact Hx|exact Hf].
  apply (stack_size_le ls n); [lia|exact Hsize].
Qed.
