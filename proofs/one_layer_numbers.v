(** One full layer whose last token is always the same, at numbers: what the tokens of one player add up to
    must tell apart all that the player may hold.  Equality, Disjointness, and recall, where values stand in
    other tokens than their keys. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith Permutation.
Import ListNotations.
From Limen Require Import counting powers streaming_state rows families.
From Limen Require each_w_stack.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** The query is fixed, so each token adds something of its own; sums commute, as those of softmax do; what is
    answered is any function of the total. *)
Record one_layer (Ans : Type) := {
  LToken : Type; sums : monoid; commute : forall a b : carrier sums, add a b = add b a;
  adds : LToken -> carrier sums; says : carrier sums -> Ans }.
Arguments LToken {Ans}. Arguments sums {Ans}. Arguments commute {Ans}. Arguments adds {Ans}. Arguments says {Ans}.
Definition answers {Ans} (M : one_layer Ans) (xs : list (LToken M)) : Ans := says M (total (adds M) xs).
(** Any t tokens add up to at most 2^w values. *)
Definition sum_bits {Ans} (M : one_layer Ans) (t w : nat) : Prop :=
  exists Ks, length Ks <= 2 ^ w /\ forall u, length u = t -> In (total (adds M) u) Ks.

Lemma total_permutation {Ans} (M : one_layer Ans) xs ys : Permutation xs ys -> total (adds M) xs = total (adds M) ys.
Proof.
  induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH1 _ IH2]; simpl; auto.
  - f_equal. exact IH.
  - fold (total (adds M) l). rewrite !add_assoc. f_equal. apply commute.
  - congruence.
Qed.
Lemma layer_rows {Ans X Y} (M : one_layer Ans) t w (F : list X) (W : list Y) mine yours input truth :
  sum_bits M t w -> NoDup F -> (forall u, In u F -> length (mine u) = t) ->
  (forall u v, In u F -> In v W -> Permutation (input u v) (mine u ++ yours v)) ->
  (forall u v, In u F -> In v W -> answers M (input u v) = truth u v) ->
  (forall u u', In u F -> In u' F -> (forall v, In v W -> truth u v = truth u' v) -> u = u') -> length F <= 2 ^ w.
Proof.
  intros [Ks [HK Hs]] NF Ht Hp Hc Hsep. etransitivity; [|exact HK].
  apply (pigeon (fun u => total (adds M) (mine u))); auto. intros u u' Hu Hu' E. apply Hsep; auto.
  intros v Hv. rewrite <- !Hc by assumption. unfold answers.
  rewrite (total_permutation M _ _ (Hp u v Hu Hv)), (total_permutation M _ _ (Hp u' v Hu' Hv)), !total_app, E. reflexivity.
Qed.

(** One player holds the first t tokens. *)
Lemma layer_family {Ans} (M : one_layer Ans) t w r R : sum_bits M t w -> family (answers M) t r R -> R <= 2 ^ w.
Proof.
  intros HM [X [Y [F [W [mine [yours [NF [<- [Hm [_ Hs]]]]]]]]]].
  apply (layer_rows M t w F W mine yours (fun u v => mine u ++ yours v) (fun u v => answers M (mine u ++ yours v))); auto.
Qed.

(** ** Two strings of n bits, of which the second ends with a 1: that token asks. *)
Definition layer_compares (g : list bool -> list bool -> bool) (M : one_layer bool) (n : nat) : Prop :=
  compares_by g (answers M) n.
Theorem cannot_compare_one_layer g w n : (g = eqb_l \/ g = disj) -> (w + 1 <? n)%N = true ->
  forall M, sum_bits M (N.to_nat n) (N.to_nat w) -> ~ layer_compares g M (N.to_nat n).
Proof.
  intros Hg H M HM C. apply N.ltb_lt, to_nat_lt in H. rewrite N2Nat.inj_add in H. change (N.to_nat 1) with 1 in H.
  destruct (compare_family g (answers M) (N.to_nat n) (N.to_nat n) (N.to_nat n - 1) Hg ltac:(lia) ltac:(lia) ltac:(lia) C) as [r [_ Fm]].
  pose proof (layer_family M _ _ _ _ HM Fm) as E. apply Nat.pow_le_mono_r_iff in E; lia.
Qed.

(** ** Recall: n pairs of a key and its value, and then always the same key.  A placement [keys] puts key
    [nth j keys] before the j-th value; asked for is the value behind key 0. *)
Fixpoint placed {Tok} (key value : nat -> nat -> Tok) (j : nat) (keys f : list nat) : list Tok :=
  match keys, f with k :: keys, v :: f => key j k :: value j v :: placed key value (S j) keys f | _, _ => [] end.
Fixpoint behind (keys f : list nat) : nat :=
  match keys, f with k :: keys, v :: f => if k =? 0 then v else behind keys f | _, _ => 0 end.
Definition layer_recalls (M : one_layer nat) (n V : nat) : Prop :=
  exists key value last, forall keys f, Permutation keys (seq 0 n) -> length f = n -> Forall (fun v => v < V) f ->
    answers M (placed key value 0 keys f ++ last) = behind keys f.

Lemma placed_permutation {Tok} (key value : nat -> nat -> Tok) keys f : length keys = length f -> forall j,
  Permutation (placed key value j keys f) (wrv value j f ++ wrv key j keys).
Proof.
  revert f. induction keys as [|k keys IH]; intros [|v f] L j; try discriminate; [constructor|]. simpl in *.
  specialize (IH f ltac:(lia) (S j)).
  apply (Permutation_trans (perm_swap (value j v) (key j k) _)), perm_skip.
  apply (Permutation_trans (perm_skip (key j k) IH)), Permutation_middle.
Qed.
(** Key 0 in place i. *)
Definition at_place (n i : nat) : list nat := seq 1 i ++ 0 :: seq (S i) (n - S i).
Lemma at_place_permutation n i : i < n -> Permutation (at_place n i) (seq 0 n).
Proof.
  intros Hi. unfold at_place. apply Permutation_sym. replace n with (S i + (n - S i)) at 1 by lia. rewrite seq_app.
  simpl. apply Permutation_middle.
Qed.
Lemma behind_place f i : i < length f -> behind (at_place (length f) i) f = nth i f 0.
Proof.
  unfold at_place. generalize (seq (S i) (length f - S i)). intros rest. generalize 1, (Nat.lt_0_succ 0). intros a Ha.
  revert a Ha f. induction i as [|i IH]; intros a Ha [|v f] Hi; simpl in *; try lia; try reflexivity.
  destruct a as [|a]; [lia|]. simpl. apply IH; lia.
Qed.
Theorem cannot_recall_one_layer w n V a b : power_exceeds w n V a b = true ->
  forall M, sum_bits M (N.to_nat n) (N.to_nat w) -> ~ layer_recalls M (N.to_nat n) (N.to_nat V).
Proof.
  intros H M HM [key [value [last C]]]. apply power_exceeds_sound in H. set (k := N.to_nat n) in *.
  set (B := N.to_nat V) in *. assert (E : length (nwords k B) <= 2 ^ N.to_nat w).
  { apply (layer_rows M k (N.to_nat w) (nwords k B) (seq 0 k) (wrv value 0)
             (fun i => wrv key 0 (at_place k i) ++ last) (fun f i => placed key value 0 (at_place k i) f ++ last)
             (fun f i => nth i f 0) HM (nwords_NoDup k B)).
    - intros f Hf. apply in_nwords in Hf. rewrite wrv_len. tauto.
    - intros f i Hf Hi. apply in_nwords in Hf. apply in_seq in Hi. rewrite app_assoc. apply Permutation_app_tail.
      apply placed_permutation. rewrite (Permutation_length (at_place_permutation k i ltac:(lia))), seq_length.
      symmetry. tauto.
    - intros f i Hf Hi. apply in_nwords in Hf. apply in_seq in Hi. destruct Hf as [Lf Ff].
      rewrite (C _ f (at_place_permutation k i ltac:(lia)) Lf Ff). rewrite <- Lf. apply behind_place. lia.
    - intros f g Hf Hg E. apply in_nwords in Hf, Hg. apply (nth_ext_on 0 f g k); [tauto|tauto|].
      intros i Hi. apply E, in_seq. lia. }
  rewrite nwords_length in E. lia.
Qed.
