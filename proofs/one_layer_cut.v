(** One full layer: what the tokens of one player tell a fixed query is a few sums, and
    these must tell apart all that the player may hold.  Worked out for Equality. *)
From Coq Require Import List Arith Lia Bool PeanoNat Permutation.
Import ListNotations.
From Limen Require Import counting streaming_state.

(** Abstract one-way protocol: message of K values. *)
Theorem one_way {X Y Ans} (FX : list X) (FY : list Y) (g : X -> Y -> Ans)
    (msg : X -> nat) (bob : nat -> Y -> Ans) (K : nat) :
  NoDup FX -> (forall x, In x FX -> msg x < K) ->
  (forall x y, In x FX -> In y FY -> bob (msg x) y = g x y) ->
  (forall x x', In x FX -> In x' FX -> (forall y, In y FY -> g x y = g x' y) -> x = x') ->
  length FX <= K.
Proof.
  intros HN HK Hc Hs. rewrite <- (seq_length K 0). apply (pigeon msg); auto.
  - intros a Ha. apply in_seq. specialize (HK a Ha). lia.
  - intros x x' Hx Hx' E. apply Hs; auto. intros y Hy. rewrite <- !Hc, E; auto.
Qed.

Theorem one_layer_cut (n K : nat) (msg : list bool -> nat) (bob : nat -> list bool -> bool) :
  (forall a, length a = n -> msg a < K) ->
  (forall a b, length a = n -> length b = n -> bob (msg a) b = eqb_l a b) ->
  2 ^ n <= K.
Proof.
  intros HK Hc. rewrite <- bwords_length.
  apply (one_way (bwords n) (bwords n) eqb_l msg bob); auto using bwords_NoDup.
  - intros a Ha. apply HK, in_bwords, Ha.
  - intros a b Ha Hb. apply Hc; apply in_bwords; assumption.
  - intros a a' Ha Ha' E. apply in_bwords in Ha, Ha'. apply (eqb_sep n); auto.
    intros b Hb. apply E, in_bwords, Hb.
Qed.

(** Concrete layer.  For a fixed query (EOS) each token adds a vector of D = H(d+1)
    accumulators (weights and weighted values, integer fixed point); the layer's
    output is ANY function of the total.  Arbitrary token placement: the tokens of
    both players are interleaved in any order [perm]. *)
Section Attn.
Variables (D p n : nat).
Variable contrib : nat -> bool -> list nat.        (* position, bit -> D numbers *)
Hypothesis contrib_len : forall i b, length (contrib i b) = D.

Fixpoint vadd (u v : list nat) : list nat :=
  match u, v with x :: u, y :: v => (x + y) :: vadd u v | _, _ => [] end.
Definition vsum (l : list (list nat)) : list nat := fold_right vadd (repeat 0 D) l.

Lemma vadd_len u v : length u = D -> length v = D -> length (vadd u v) = D.
Proof. clear contrib_len. revert D v; induction u as [|x u IH]; intros k [|y v] H H'; simpl in *; try lia.
  destruct k; [lia|]. f_equal. apply IH; lia. Qed.
Lemma vadd_comm u v : vadd u v = vadd v u.
Proof. revert v; induction u as [|x u IH]; intros [|y v]; simpl; auto. f_equal; [lia|apply IH]. Qed.
Lemma vadd_assoc u v w : vadd u (vadd v w) = vadd (vadd u v) w.
Proof. revert v w; induction u as [|x u IH]; intros [|y v] [|z w]; simpl; auto. f_equal; [lia|apply IH]. Qed.
Lemma vadd_0 v : length v = D -> vadd (repeat 0 D) v = v.
Proof. clear contrib_len. revert D; induction v as [|y v IH]; intros [|k] H; simpl in *; try lia; auto. f_equal. apply IH; lia. Qed.
Lemma vsum_len l : (forall v, In v l -> length v = D) -> length (vsum l) = D.
Proof.
  induction l as [|v l IH]; intros H; simpl; [apply repeat_length|].
  apply vadd_len; [apply H; simpl; auto|apply IH; intros; apply H; simpl; auto].
Qed.
Lemma vsum_app l l' : (forall v, In v l' -> length v = D) ->
  vsum (l ++ l') = vadd (vsum l) (vsum l').
Proof.
  intros H. induction l as [|v l IH]; simpl.
  - symmetry. apply vadd_0, vsum_len, H.
  - rewrite IH. apply vadd_assoc.
Qed.
Lemma vsum_perm l l' : Permutation l l' -> vsum l = vsum l'.
Proof.
  induction 1 as [|x l l' _ IH|x y l|l l' l'' _ IH1 _ IH2]; simpl; auto.
  - congruence.
  - rewrite !vadd_assoc. f_equal. apply vadd_comm.
  - congruence.
Qed.

Variables (posA posB : nat -> nat).      (* where the i-th bit of each player stands *)
Definition toks (pos : nat -> nat) (a : list bool) : list (list nat) :=
  map (fun i => contrib (pos i) (nth i a false)) (seq 0 n).
(** all tokens, in the order in which the layer adds them *)
Variable order : list bool -> list bool -> list (list nat).
Variable extra : list (list nat).        (* fixed tokens: BOS, EOS, separators *)
Hypothesis extra_len : forall v, In v extra -> length v = D.
Hypothesis order_perm : forall a b,
  Permutation (order a b) (toks posA a ++ (toks posB b ++ extra)).
Variable mlp : list nat -> bool.

Lemma toks_len pos a v : In v (toks pos a) -> length v = D.
Proof. intros H. apply in_map_iff in H. destruct H as [i [<- _]]. apply contrib_len. Qed.

Theorem attention_equality :
  (forall a, length a = n -> Forall (fun x => x < 2 ^ p) (vsum (toks posA a))) ->
  (forall a b, length a = n -> length b = n -> mlp (vsum (order a b)) = eqb_l a b) ->
  n <= D * p.
Proof.
  intros Hp Hc. apply (Nat.pow_le_mono_r_iff 2); [lia|].
  rewrite (Nat.mul_comm D p), Nat.pow_mul_r, <- bwords_length, <- nwords_length.
  apply (pigeon (fun a => vsum (toks posA a))); auto using bwords_NoDup.
  - intros a Ha. apply in_bwords in Ha. apply in_nwords. split; [|auto].
    apply vsum_len. intros v; apply toks_len.
  - intros a a' Ha Ha' E. apply in_bwords in Ha, Ha'. apply (eqb_sep n); auto.
    intros b Hb. rewrite <- !Hc by assumption. f_equal.
    rewrite !(vsum_perm _ _ (order_perm _ _)).
    assert (R : forall v, In v (toks posB b ++ extra) -> length v = D).
    { intros v Hv. apply in_app_iff in Hv. destruct Hv; [eapply toks_len; eassumption|auto]. }
    rewrite !vsum_app by assumption. congruence.
Qed.
End Attn.
