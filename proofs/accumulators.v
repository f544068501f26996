(** beta = Dp: the accumulators as vectors of D naturals below 2^p; sums and normalisers
    alone are D = H(d+1), and with the running maxima Limen counts D = H(d+2)
    (zero-padded addition is a monoid on ALL lists, so no dependent types). *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state two_hops two_hops_stack composition_depth.

Fixpoint padd (u v : list nat) : list nat :=
  match u, v with
  | [], _ => v
  | _, [] => u
  | x :: u, y :: v => (x + y) :: padd u v
  end.
Lemma padd_nil_r u : padd u [] = u. Proof. destruct u; reflexivity. Qed.
Lemma padd_assoc u : forall v w, padd u (padd v w) = padd (padd u v) w.
Proof.
  induction u as [|x u IH]; intros [|y v] [|z w]; simpl; auto. f_equal; [lia|apply IH].
Qed.
Lemma padd_len u v D : length u = D -> length v = D \/ v = [] -> length (padd u v) = D.
Proof.
  intros Hu [Hv| ->]; [|rewrite padd_nil_r; assumption].
  revert v D Hu Hv; induction u as [|x u IH]; intros [|y v] [|D] Hu Hv; simpl in *; try lia.
  f_equal. apply IH; lia.
Qed.

Section Acc.
Context {Y Q : Type}.
Variables (contrib : Q -> Y -> list nat) (D p : nat).
Hypothesis Hlen : forall q y, length (contrib q y) = D.
Lemma csum_len q ys : ys <> [] -> length (csum Y Q (list nat) padd [] contrib q ys) = D.
Proof.
  induction ys as [|y ys IH]; [congruence|]. intros _. simpl. apply padd_len; [apply Hlen|].
  destruct ys as [|y' ys]; [right; reflexivity|left; apply IH; discriminate].
Qed.
Lemma csum_enum q ys : ys <> [] ->
  Forall (fun a => a < 2 ^ p) (csum Y Q (list nat) padd [] contrib q ys) ->
  In (csum Y Q (list nat) padd [] contrib q ys) (nwords D (2 ^ p)).
Proof. intros H F. apply in_nwords. split; [apply csum_len; assumption|assumption]. Qed.
Lemma acc_bits : length (nwords D (2 ^ p)) = 2 ^ (D * p).
Proof. rewrite nwords_length, <- Nat.pow_mul_r, Nat.mul_comm. reflexivity. Qed.
End Acc.

(** A concrete hybrid: recurrent stacks with s and s' bits of state, one full layer
    with D accumulators of p bits. *)
Section Concrete.
Variables (X Y Q W : Type) (s s' D p m n1 : nat).
Variables (pre : list bool -> X -> list bool * Y) (sp0 : list bool).
Variables (post : list bool -> W -> list bool * nat) (sq0 : list bool).
Variables (query : Y -> Q) (contrib : Q -> Y -> list nat) (mlp : Y -> list nat -> W).
Variables (e2 e1 : nat -> nat -> X) (e0 ew : nat -> X).
Hypothesis Hsp0 : length sp0 = s.
Hypothesis Hpre : forall q x, length q = s -> length (fst (pre q x)) = s.
Hypothesis Hsq0 : length sq0 = s'.
Hypothesis Hpost : forall q x, length q = s' -> length (fst (post q x)) = s'.
Hypothesis Hlen : forall q y, length (contrib q y) = D.
Let N := n1 * m.
(** the partial sums over the tokens of z_2 fit in p bits *)
Hypothesis Hfit : forall z2 q, In z2 (nwords N N) ->
  Forall (fun a => a < 2 ^ p)
    (csum Y Q (list nat) padd [] contrib q (snd (mealy pre sp0 (wrv e2 0 z2)))).

Definition Conc : hybrid := {|
  hX := X; hY := Y; hQ := Q; hC := list nat; hW := W; hSp := list bool; hSq := list bool;
  h_dec := list_eq_dec bool_dec;
  h_pre := pre; h_sp0 := sp0; h_post := post; h_sq0 := sq0;
  h_add := padd; h_zero := []; h_assoc := padd_assoc; h_unit := fun a => eq_refl;
  h_query := query; h_contrib := contrib; h_mlp := mlp;
  h_e2 := e2; h_e1 := e1; h_e0 := e0; h_ew := ew |}.

Theorem concrete_hybrid_errs k x1 lm :
  let x0 := s + 1 + lm * (k - 1) in
  0 < m -> 0 < n1 -> 0 < k -> 2 * (k * x1) <= m -> m <= 2 ^ lm -> x0 <= m ->
  s + x1 * (s + 1) + s + x1 * s' + D * p * ((n1 + 1) * x0)
    < n1 * (k * x1) * Nat.log2 (n1 * m) ->
  errs_on_two_hops (run_hybrid Conc) m n1.
Proof.
  intros x0 Hh Hn Hk Hkx Hlm Hx Hlt.
  apply (hybrid_errs Conc m n1 s s' (D * p) k x1 lm Hh Hn Hk Hkx Hlm Hx Hlt).
  split; [|split].
  - apply (has_bits_always _ _ _ _ (bwords s)); [rewrite bwords_length; lia|apply in_bwords, Hsp0|].
    intros q x Hq. apply in_bwords, Hpre, in_bwords, Hq.
  - apply (has_bits_always _ _ _ _ (bwords s')); [rewrite bwords_length; lia|apply in_bwords, Hsq0|].
    intros q x Hq. apply in_bwords, Hpost, in_bwords, Hq.
  - exists (nwords D (2 ^ p)). rewrite acc_bits. split; [lia|].
    intros z2 q Hz. apply csum_enum; [assumption| |apply Hfit, Hz].
    intros E. apply (f_equal (@length _)) in E. simpl in E.
    rewrite mealy_len, wrv_length in E. apply in_nwords in Hz. destruct Hz as [Lz _].
    rewrite Lz in E. nia.
Qed.
End Concrete.
