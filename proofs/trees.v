(** Is this graph a tree?  n vertices, n - 1 edges in any order.  Rows for machines that read once, and for one
    full layer whose last edge is always the same: k roots, on which the first n - 1 - k edges hang the vertices
    k .. n - 2, each where it likes.  The rest asks whether vertex i hangs on root x: it draws i -- n - 1, a star
    of all roots but x, and 0 -- n - 1. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Permutation.
Import ListNotations.
From Limen Require Import counting powers streaming_state log_linear_state rows families one_layer_numbers.

Definition edge := (nat * nat)%type.
Inductive linked (es : list edge) (a : nat) : nat -> Prop :=
| linked_self : linked es a a
| linked_to u v : linked es a u -> In (u, v) es -> linked es a v
| linked_from u v : linked es a v -> In (u, v) es -> linked es a u.
(** n - 1 edges are a tree if they connect everything.  The task: edges between different vertices, none twice;
    a solver need only know those that are written with the smaller vertex first. *)
Definition connects (n : nat) (es : list edge) : Prop := forall v, v < n -> linked es 0 v.
Definition graph (n : nat) (es : list edge) : Prop :=
  S (length es) = n /\ NoDup es /\ Forall (fun e => fst e < snd e < n) es.

(** ** The family *)
Section Family.
Variables n k : nat.
Hypothesis Hk : 1 < k < n - 1.
Let c := n - 1 - k.
Fixpoint hang (i : nat) (f : list nat) : list edge := match f with [] => [] | r :: f => (r, i) :: hang (S i) f end.
Definition roots (x : nat) : list edge := map (fun r => (0, r)) (filter (fun r => negb (r =? x)) (seq 1 (k - 1))).
Definition rest (i x : nat) : list edge := (k + i, n - 1) :: roots x.
Definition drawn (f : list nat) (i x : nat) : list edge := hang k f ++ rest i x ++ [(0, n - 1)].

Lemma hang_length f : forall i, length (hang i f) = length f.
Proof. induction f; simpl; auto. Qed.
Lemma in_hang f u v : forall i, In (u, v) (hang i f) <-> i <= v < i + length f /\ u = nth (v - i) f 0.
Proof.
  induction f as [|r f IH]; intros i; cbn [hang length In]; [split; [tauto|lia]|]. rewrite IH.
  destruct (Nat.lt_trichotomy v i) as [G|[->|G]].
  - split; [intros [E|[? _]]; [injection E; lia|lia]|lia].
  - rewrite Nat.sub_diag. split; [intros [E|[? _]]; [injection E; intros; subst; split; [lia|reflexivity]|lia]|].
    intros [_ ->]. auto.
  - replace (v - i) with (S (v - S i)) by lia. cbn [nth]. split.
    + intros [E|[? ?]]; [injection E; lia|split; [lia|assumption]].
    + intros [? ?]. right. split; [lia|assumption].
Qed.
Lemma in_roots u v x : In (u, v) (roots x) <-> u = 0 /\ 1 <= v < k /\ v <> x.
Proof.
  unfold roots. rewrite in_map_iff. split.
  - intros [r [E Hr]]. injection E; intros; subst. apply filter_In in Hr. rewrite in_seq, negb_true_iff, Nat.eqb_neq in Hr. lia.
  - intros [-> [H N]]. exists v. split; [reflexivity|]. apply filter_In. rewrite in_seq, negb_true_iff, Nat.eqb_neq. lia.
Qed.
Lemma count_without x a : forall j, a <= x < a + j -> length (filter (fun r => negb (r =? x)) (seq a j)) = j - 1.
Proof.
  intros j. revert a. induction j as [|j IH]; intros a H; [lia|]. cbn [seq filter].
  destruct (Nat.eqb_spec a x) as [->|N]; cbn [negb].
  - clear. rewrite filter_all; [rewrite seq_length; lia|]. intros r Hr. apply in_seq in Hr. apply negb_true_iff, Nat.eqb_neq. lia.
  - cbn [length]. rewrite IH by lia. lia.
Qed.
Lemma roots_length x : 0 < x < k -> length (roots x) = k - 2.
Proof. intros H. unfold roots. rewrite map_length, count_without by lia. lia. Qed.
Lemma hang_NoDup f : forall i, NoDup (hang i f).
Proof.
  induction f as [|r f IH]; intros i; simpl; constructor; auto. intros H. apply in_hang in H. lia.
Qed.
Lemma roots_NoDup x : NoDup (roots x).
Proof.
  unfold roots. apply FinFun.Injective_map_NoDup; [intros a b E; congruence|]. apply filter_NoDup, seq_NoDup.
Qed.

Lemma drawn_graph f i x : length f = c -> Forall (fun r => r < k) f -> i < c -> 0 < x < k -> graph n (drawn f i x).
Proof.
  intros Lf Ff Hi Hx. unfold graph, drawn, rest, c in *. split; [|split].
  - rewrite !app_length, hang_length. cbn [length]. rewrite roots_length by assumption. lia.
  - apply NoDup_app_intro; [apply hang_NoDup| |].
    + cbn [app]. constructor.
      * intros H. apply in_app_iff in H. destruct H as [H|[H|[]]]; [apply in_roots in H; lia|injection H; lia].
      * apply NoDup_app_intro; [apply roots_NoDup|constructor; [simpl; tauto|constructor]|].
        intros [u v] H [G|[]]. injection G; intros; subst. apply in_roots in H. lia.
    + intros [u v] H G. apply in_hang in H. cbn [app] in G. destruct G as [G|G].
      * injection G; intros; subst. lia.
      * apply in_app_iff in G. destruct G as [G|[G|[]]]; [apply in_roots in G; lia|injection G; intros; subst; lia].
  - apply Forall_forall. intros [u v] H. cbn [fst snd]. apply in_app_iff in H. destruct H as [H|H].
    + apply in_hang in H. destruct H as [H ->]. rewrite Forall_forall in Ff. split; [|lia].
      apply Nat.lt_le_trans with k; [apply Ff, nth_In; lia|lia].
    + cbn [app] in H. destruct H as [H|H]; [injection H; intros; subst; lia|].
      apply in_app_iff in H. destruct H as [H|[H|[]]]; [apply in_roots in H; lia|injection H; intros; subst; lia].
Qed.

Lemma linked_trans es a b d : linked es a b -> linked es b d -> linked es a d.
Proof.
  intros H. induction 1 as [|u v _ IH HE|u v _ IH HE]; [exact H|eapply linked_to|eapply linked_from]; eassumption.
Qed.
(** Everything hangs together if vertex k + i hangs on root x ... *)
Lemma drawn_connects f i x : length f = c -> Forall (fun r => r < k) f -> i < c -> 0 < x < k -> nth i f 0 = x ->
  connects n (drawn f i x).
Proof.
  intros Lf Ff Hi Hx E v Hv. unfold c in *. set (es := drawn f i x).
  assert (Last : linked es 0 (n - 1)).
  { apply linked_to with 0; [constructor|]. unfold es, drawn. rewrite !in_app_iff. simpl. tauto. }
  assert (Here : linked es 0 (k + i)).
  { apply linked_from with (n - 1); [exact Last|]. unfold es, drawn, rest. rewrite !in_app_iff. simpl. tauto. }
  assert (Root : forall r, r < k -> linked es 0 r).
  { intros r Hr. destruct (Nat.eq_dec r 0) as [->|N0]; [constructor|]. destruct (Nat.eq_dec r x) as [->|Nx].
    - apply linked_from with (k + i); [exact Here|]. unfold es, drawn. apply in_app_iff. left. apply in_hang.
      split; [lia|]. replace (k + i - k) with i by lia. auto.
    - apply linked_to with 0; [constructor|]. unfold es, drawn, rest. apply in_app_iff. right. apply in_app_iff. left.
      right. apply in_roots. lia. }
  destruct (le_lt_dec k v) as [G|G]; [|apply Root, G]. destruct (Nat.eq_dec v (n - 1)) as [->|N]; [exact Last|].
  apply linked_to with (nth (v - k) f 0).
  - apply Root. rewrite Forall_forall in Ff. apply Ff, nth_In. lia.
  - unfold es, drawn. apply in_app_iff. left. apply in_hang. split; [lia|reflexivity].
Qed.
(** ... and root x is apart if it does not. *)
Lemma drawn_apart f i x : length f = c -> Forall (fun r => r < k) f -> i < c -> 0 < x < k -> nth i f 0 <> x -> ~ connects n (drawn f i x).
Proof.
  intros Lf Ff Hi Hx E C. unfold c in *.
  set (mine := fun v => v = x \/ (k <= v < n - 1 /\ nth (v - k) f 0 = x)).
  assert (Closed : forall u v, In (u, v) (drawn f i x) -> (mine u <-> mine v)).
  { intros u v H. unfold drawn in H. apply in_app_iff in H. unfold mine. destruct H as [H|H].
    - apply in_hang in H. destruct H as [H Hu]. split.
      + intros [->|[G _]]; [right; split; [lia|congruence]|]. exfalso. rewrite Forall_forall in Ff.
        assert (u < k) by (rewrite Hu; apply Ff, nth_In; lia). lia.
      + intros [->|[_ G]]; [lia|left; congruence].
    - cbn [rest app] in H. destruct H as [H|H].
      + injection H; intros; subst. split; [intros [?|[_ G]]; [lia|]|intros [?|[? _]]; lia].
        exfalso. apply E. replace i with (k + i - k) by lia. exact G.
      + apply in_app_iff in H. destruct H as [H|[H|[]]]; [apply in_roots in H|injection H; intros; subst]; lia. }
  assert (Out : forall v, linked (drawn f i x) 0 v -> ~ mine v).
  { induction 1 as [|u v _ IH HE|u v _ IH HE]; [unfold mine; lia| |]; pose proof (Closed u v HE); tauto. }
  apply (Out x (C x ltac:(lia))). unfold mine. auto.
Qed.

(** Two ways to hang differ at some vertex, and there one of them hangs it on a root that is not 0. *)
Lemma hangs_differ f g : length f = c -> length g = c ->
  (forall i x, i < c -> 0 < x < k -> (nth i f 0 =? x) = (nth i g 0 =? x)) ->
  Forall (fun r => r < k) f -> Forall (fun r => r < k) g -> f = g.
Proof.
  intros Lf Lg E Ff Fg. rewrite Forall_forall in Ff, Fg. apply (nth_ext_on 0 f g c); [exact Lf|exact Lg|]. intros i Hi.
  assert (A : nth i f 0 < k) by (apply Ff, nth_In; lia). assert (B : nth i g 0 < k) by (apply Fg, nth_In; lia).
  destruct (Nat.eq_dec (nth i f 0) 0) as [Z|Z].
  - destruct (Nat.eq_dec (nth i g 0) 0) as [Y|Y]; [congruence|]. specialize (E i (nth i g 0) Hi ltac:(lia)).
    rewrite Nat.eqb_refl in E. apply Nat.eqb_eq in E. exact E.
  - specialize (E i (nth i f 0) Hi ltac:(lia)). rewrite Nat.eqb_refl in E. symmetry in E. apply Nat.eqb_eq in E. auto.
Qed.
End Family.

(** ** Machines that read once *)
Fixpoint wre {Tok} (tok : nat -> edge -> Tok) (i : nat) (es : list edge) : list Tok :=
  match es with [] => [] | e :: es => tok i e :: wre tok (S i) es end.
Lemma wre_length {Tok} (tok : nat -> edge -> Tok) es : forall i, length (wre tok i es) = length es.
Proof. induction es; intros i; simpl; auto. Qed.
Lemma wre_app {Tok} (tok : nat -> edge -> Tok) es es' : forall i,
  wre tok i (es ++ es') = wre tok i es ++ wre tok (i + length es) es'.
Proof.
  induction es as [|e es IH]; intros i; simpl; [rewrite Nat.add_0_r; reflexivity|].
  rewrite IH. do 3 f_equal. lia.
Qed.
Definition whether (P : Prop) (says : bool -> Prop) : Prop := (P -> says true) /\ (~ P -> says false).

(** Whatever stands behind the edges: nothing, or tokens that are always the same. *)
Definition tells_trees (M : machine bool) (n : nat) : Prop :=
  exists tok last, forall es, graph n es ->
    whether (connects n es) (tells M (wre tok 0 es ++ last)).

Theorem tree_state (M : machine bool) n k s : 1 < k < n - 1 -> memory_bits M (n - 1 - k) s -> tells_trees M n ->
  k ^ (n - 1 - k) <= 2 ^ s.
Proof.
  intros Hk HM [tok [last Hc]]. set (c := n - 1 - k) in *. rewrite <- nwords_length.
  apply (rows M c s (nwords c k) (list_prod (seq 0 c) (seq 1 (k - 1))) (fun f => wre tok 0 (hang k f))
           (fun p => wre tok c (rest n k (fst p) (snd p) ++ [(0, n - 1)]) ++ last) (fun f p => nth (fst p) f 0 =? snd p)).
  - exact HM.
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite wre_length, hang_length. tauto.
  - intros p _ E. discriminate.
  - intros f [i x] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp.
    cbn [fst snd]. assert (Hx : 0 < x < k) by lia. assert (Hi : i < c) by lia.
    rewrite app_assoc. replace (wre tok 0 (hang k f) ++ wre tok c (rest n k i x ++ [(0, n - 1)])) with (wre tok 0 (drawn n k f i x))
      by (unfold drawn; rewrite wre_app, hang_length, Lf; reflexivity).
    destruct (Hc _ (drawn_graph n k Hk f i x Lf Ff Hi Hx)) as [Yes No]. destruct (Nat.eqb_spec (nth i f 0) x) as [E|E].
    + apply Yes, drawn_connects; assumption.
    + apply No, drawn_apart; assumption.
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (hangs_differ n k Hk f g); try tauto.
    intros i x Hi Hx. apply (E (i, x)). apply in_prod; apply in_seq; fold c; lia.
Qed.

(** ** Whoever is asked by the last edge, 0 -- n - 1 *)
Definition trees_by {Tok} (ans : list Tok -> bool) (n : nat) : Prop :=
  exists tok last, forall es, graph n (es ++ [(0, n - 1)]) ->
    whether (connects n (es ++ [(0, n - 1)])) (eq (ans (wre tok 0 (es ++ [(0, n - 1)]) ++ last))).
Lemma tree_family {Tok} (ans : list Tok -> bool) n k : 1 < k < n - 1 -> trees_by ans n ->
  exists r, 0 < r /\ family ans (n - 1 - k) r (k ^ (n - 1 - k)).
Proof.
  intros Hk [tok [last Hc]]. set (c := n - 1 - k) in *. rewrite <- nwords_length.
  exists (S (k - 2) + 1 + length last). split; [lia|].
  apply (by_truth ans c _ (nwords c k) (list_prod (seq 0 c) (seq 1 (k - 1))) (fun f => wre tok 0 (hang k f))
           (fun p => wre tok c (rest n k (fst p) (snd p) ++ [(0, n - 1)]) ++ last) (fun f p => nth (fst p) f 0 =? snd p)).
  - apply nwords_NoDup.
  - intros f Hf. apply in_nwords in Hf. rewrite wre_length, hang_length. tauto.
  - intros [i x] Hp. apply in_prod_iff in Hp. rewrite !in_seq in Hp. cbn [fst snd].
    rewrite app_length, wre_length, app_length. unfold rest. cbn [length]. rewrite (roots_length n k Hk) by lia. lia.
  - intros f [i x] Hf Hp. apply in_nwords in Hf. destruct Hf as [Lf Ff]. apply in_prod_iff in Hp. rewrite !in_seq in Hp.
    cbn [fst snd]. assert (Hx : 0 < x < k) by lia. assert (Hi : i < c) by lia.
    pose proof (drawn_graph n k Hk f i x Lf Ff Hi Hx) as G. pose proof (drawn_connects n k Hk f i x Lf Ff Hi Hx) as D.
    pose proof (drawn_apart n k Hk f i x Lf Ff Hi Hx) as A.
    rewrite app_assoc. replace (wre tok 0 (hang k f) ++ wre tok c (rest n k i x ++ [(0, n - 1)])) with (wre tok 0 (drawn n k f i x))
      by (unfold drawn; rewrite wre_app, hang_length, Lf; reflexivity).
    unfold drawn in *. rewrite app_assoc in *. destruct (Hc _ G) as [Yes No].
    destruct (Nat.eqb_spec (nth i f 0) x) as [E|E]; [apply Yes, D, E|apply No, A, E].
  - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (hangs_differ n k Hk f g); try tauto.
    intros i x Hi Hx. apply (E (i, x)). apply in_prod; apply in_seq; fold c; lia.
Qed.
(** One full layer. *)
Definition layer_tells_trees (M : one_layer bool) (n : nat) : Prop := trees_by (answers M) n.
Theorem tree_layer (M : one_layer bool) n k w : 1 < k < n - 1 -> sum_bits M (n - 1 - k) w -> layer_tells_trees M n ->
  k ^ (n - 1 - k) <= 2 ^ w.
Proof. intros Hk HM C. destruct (tree_family _ n k Hk C) as [r [_ Fm]]. exact (layer_family M _ _ _ _ HM Fm). Qed.

(** ** At numbers: t edges, k = n - 1 - t roots *)
Local Open Scope N_scope.
Definition chk_tree (s n t a b : N) : bool :=
  (0 <? t) && (t + 2 <? n) && power_exceeds s t (n - 1 - t) a b.
Lemma chk_tree_sound s n t a b : chk_tree s n t a b = true ->
  let k := (N.to_nat n - 1 - N.to_nat t)%nat in
  (1 < k < N.to_nat n - 1)%nat /\ (N.to_nat n - 1 - k = N.to_nat t)%nat /\ (2 ^ N.to_nat s < k ^ (N.to_nat n - 1 - k))%nat.
Proof.
  unfold chk_tree. rewrite !andb_true_iff, !N.ltb_lt. intros [[H0 H1] H2]. apply power_exceeds_sound in H2.
  apply to_nat_lt in H0, H1. rewrite N2Nat.inj_add in H1. rewrite !N2Nat.inj_sub in H2.
  change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in *. change (N.to_nat 0) with 0%nat in *.
  cbv zeta. replace (N.to_nat n - 1 - (N.to_nat n - 1 - N.to_nat t))%nat with (N.to_nat t) by lia. repeat split; lia.
Qed.
Theorem cannot_tell_trees s n t a b : chk_tree s n t a b = true ->
  forall M, memory_bits M (N.to_nat t) (N.to_nat s) -> ~ tells_trees M (N.to_nat n).
Proof.
  intros H M HM C. destruct (chk_tree_sound _ _ _ _ _ H) as [Hk [Ht Hlt]].
  rewrite <- Ht in HM. pose proof (tree_state M _ _ _ Hk HM C). lia.
Qed.
Theorem cannot_tell_trees_log_linear s n r a b : chk_tree s n (2 ^ r) a b = true ->
  forall M, merged_bits M (N.to_nat r) (N.to_nat s) -> ~ tells_trees (machine_of M) (N.to_nat n).
Proof. intros H M HM. apply (cannot_tell_trees _ _ _ _ _ H), (merged_at M r); [reflexivity|exact HM]. Qed.
Theorem cannot_tell_trees_one_layer w n t a b : chk_tree w n t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_tells_trees M (N.to_nat n).
Proof.
  intros H M HM C. destruct (chk_tree_sound _ _ _ _ _ H) as [Hk [Ht Hlt]].
  rewrite <- Ht in HM. pose proof (tree_layer M _ _ _ Hk HM C). lia.
Qed.
