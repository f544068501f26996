(** One full layer whose last token is always the same, on brackets, counting, 3-Sum and sparse averages: words
    that one player may hold, each of which some question of the other tells apart. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Permutation Sorted.
Import ListNotations.
From Limen Require Import counting powers streaming_state rows families one_layer_numbers.

(** ** Brackets: n of them, of k kinds, of which the last closes kind 0. *)
Definition layer_closes (M : one_layer bool) (n k D : nat) : Prop := closes_by (answers M) n k D.

(** open a_1, close b_1, open a_2, ...: are all the same? *)
Fixpoint woven (f g : list nat) : list (bool * nat) :=
  match f, g with a :: f, b :: g => (true, a) :: (false, b) :: woven f g | _, _ => [] end.
Lemma woven_closed D f : 0 < D -> forall g xs, length f = length g ->
  closed D [] (woven f g ++ xs) = same f g && closed D [] xs.
Proof.
  intros HD. induction f as [|a f IH]; intros [|b g] xs L; try discriminate; [reflexivity|]. cbn [woven app closed length same].
  replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD). rewrite IH by (simpl in L; lia). cbn [andb]. apply andb_assoc.
Qed.
Lemma woven_length f : forall g, length f = length g -> length (woven f g) = 2 * length f.
Proof. induction f as [|a f IH]; intros [|b g] L; try discriminate; [reflexivity|]. cbn [woven length] in *. rewrite IH by lia. lia. Qed.
Lemma woven_kinds k f : Forall (fun a => a < k) f -> forall g, Forall (fun a => a < k) g -> Forall (fun x => snd x < k) (woven f g).
Proof. induction 1; intros g [|b g' Hb Hg]; cbn [woven]; repeat constructor; auto. Qed.
(** Whose tokens are whose. *)
Fixpoint at_even {Tok} (tok : nat -> bool * nat -> Tok) (b : bool) (i : nat) (f : list nat) : list Tok :=
  match f with [] => [] | a :: f => tok i (b, a) :: at_even tok b (S (S i)) f end.
Lemma at_even_length {Tok} (tok : nat -> bool * nat -> Tok) b f : forall i, length (at_even tok b i f) = length f.
Proof. induction f; intros i; simpl; auto. Qed.
Lemma woven_permutation {Tok} (tok : nat -> bool * nat -> Tok) f : forall g i, length f = length g ->
  Permutation (wrb tok i (woven f g)) (at_even tok true i f ++ at_even tok false (S i) g).
Proof.
  induction f as [|a f IH]; intros [|b g] i L; try discriminate; [constructor|]. cbn [woven wrb at_even app].
  apply perm_skip. etransitivity; [|apply Permutation_middle]. apply perm_skip, IH. simpl in L. lia.
Qed.
Theorem bracket_layer (M : one_layer bool) h k D w : 0 < D -> 0 < k -> sum_bits M h w ->
  layer_closes M (2 * S h) k D -> k ^ h <= 2 ^ w.
Proof.
  intros HD Hk HM [tok [last C]]. rewrite <- nwords_length. set (tl := wrb tok (2 * h) [(true, 0); (false, 0)] ++ last).
  apply (layer_rows M h w (nwords h k) (nwords h k) (at_even tok true 0) (fun g => at_even tok false 1 g ++ tl)
           (fun f g => wrb tok 0 (woven f g) ++ tl) same HM (nwords_NoDup h k)).
  - intros f Hf. apply in_nwords in Hf. rewrite at_even_length. tauto.
  - intros f g Hf Hg. apply in_nwords in Hf, Hg. rewrite app_assoc. apply Permutation_app_tail, woven_permutation. destruct Hf, Hg. congruence.
  - intros f g Hf Hg. apply in_nwords in Hf, Hg. destruct Hf as [Lf Ff], Hg as [Lg Fg]. assert (L : length f = length g) by congruence.
    replace (wrb tok 0 (woven f g) ++ tl) with (wrb tok 0 ((woven f g ++ [(true, 0)]) ++ [(false, 0)]) ++ last).
    + rewrite C.
      * rewrite <- app_assoc, woven_closed by assumption. cbn [app closed length]. replace (0 <? D) with true by (symmetry; apply Nat.ltb_lt, HD).
        cbn. apply andb_true_r.
      * rewrite app_length, woven_length by assumption. simpl. lia.
      * apply Forall_app. split; [apply woven_kinds; assumption|repeat constructor; assumption].
    + unfold tl. rewrite <- app_assoc, wrb_app, woven_length, Lf by assumption. rewrite <- app_assoc. reflexivity.
  - intros f g Hf Hg E. pose proof (E f Hf) as G. rewrite same_refl in G. symmetry in G. apply in_nwords in Hf, Hg.
    symmetry. apply same_eq; [destruct Hf, Hg; congruence|exact G].
Qed.

(** ** Words at the beginning of the text: families.v *)
Definition layer_counts (M : one_layer bool) (n S : nat) : Prop := counts_by (answers M) n S.
Definition layer_three_sums (M : one_layer bool) (n m : nat) : Prop := three_sums_by (answers M) n m.
Definition layer_averages (M : one_layer nat) (n q : nat) : Prop := averages_by (answers M) n q.
Theorem counting_layer (M : one_layer bool) n S t w : 0 < t -> t <= n -> sum_bits M t w -> layer_counts M n S ->
  ((S - 1) / t) ^ t <= 2 ^ w.
Proof. intros Ht Hn HM C. destruct (counting_family _ n S t Ht Hn C) as [r [_ Fm]]. exact (layer_family M _ _ _ _ HM Fm). Qed.
Theorem three_sum_layer (M : one_layer bool) n m t w : 0 < t -> t < n -> sum_bits M t w -> layer_three_sums M n m ->
  (((m - 1) / 2 - 1) / t) ^ t <= 2 ^ w.
Proof. intros Ht Hn HM C. destruct (three_sum_family _ n m t Ht Hn C) as [r [_ Fm]]. exact (layer_family M _ _ _ _ HM Fm). Qed.
Theorem average_layer (M : one_layer nat) n q k w : 1 < q -> k + q <= n + 1 -> sum_bits M k w -> layer_averages M n q ->
  2 ^ k <= 2 ^ w.
Proof.
  intros Hq Hk HM C. destruct (average_family _ n q k k Hq Hk (le_n k) ltac:(lia) C) as [r [_ Fm]].
  exact (layer_family M _ _ _ _ HM Fm).
Qed.

(** ** At numbers *)
Local Open Scope N_scope.
Definition chk_brackets (w n k D a b : N) : bool :=
  (0 <? D) && (0 <? k) && (2 <=? n) && (2 * (n / 2) =? n) && power_exceeds w (n / 2 - 1) k a b.
Theorem cannot_close_one_layer w n k D a b : chk_brackets w n k D a b = true ->
  forall M, sum_bits M (N.to_nat (n / 2 - 1)) (N.to_nat w) -> ~ layer_closes M (N.to_nat n) (N.to_nat k) (N.to_nat D).
Proof.
  unfold chk_brackets. rewrite !andb_true_iff, !N.ltb_lt, N.leb_le, N.eqb_eq. intros [[[[H0 H1] H2] H3] H4] M HM C.
  apply power_exceeds_sound in H4. apply to_nat_lt in H0, H1. set (h := N.to_nat (n / 2 - 1)) in *.
  assert (E : N.to_nat n = (2 * S h)%nat) by (unfold h; lia). rewrite E in C.
  pose proof (bracket_layer M h _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_count_layer (w n S t a b : N) : bool := (0 <? t) && (t <=? n) && power_exceeds w t ((S - 1) / t) a b.
Theorem cannot_count_one_layer w n S t a b : chk_count_layer w n S t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_counts M (N.to_nat n) (N.to_nat S).
Proof.
  unfold chk_count_layer. rewrite !andb_true_iff, N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0. apply to_nat_le in H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. pose proof (counting_layer M _ _ _ _ H0 H1 HM C). lia.
Qed.
Definition chk_three_layer (w n m t a b : N) : bool :=
  (0 <? t) && (t <? n) && power_exceeds w t (((m - 1) / 2 - 1) / t) a b.
Theorem cannot_three_one_layer w n m t a b : chk_three_layer w n m t a b = true ->
  forall M, sum_bits M (N.to_nat t) (N.to_nat w) -> ~ layer_three_sums M (N.to_nat n) (N.to_nat m).
Proof.
  unfold chk_three_layer. rewrite !andb_true_iff, !N.ltb_lt. intros [[H0 H1] H2] M HM C.
  apply power_exceeds_sound in H2. apply to_nat_lt in H0, H1. divided_in H2.
  change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in H2.
  pose proof (three_sum_layer M _ _ _ _ H0 H1 HM C). lia.
Qed.
Theorem cannot_average_one_layer w n q k : (1 <? q) && (k + q <=? n + 1) && (w <? k) = true ->
  forall M, sum_bits M (N.to_nat k) (N.to_nat w) -> ~ layer_averages M (N.to_nat n) (N.to_nat q).
Proof.
  rewrite !andb_true_iff, !N.ltb_lt, N.leb_le. intros [[H0 H1] H2] M HM C.
  apply to_nat_lt in H0, H2. apply to_nat_le in H1. rewrite !N2Nat.inj_add in H1.
  pose proof (average_layer M _ _ _ _ H0 H1 HM C) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.
