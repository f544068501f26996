(** Two hops by linear layers, one full layer, linear layers: the statement with the
    stack as a record, and a verified checker.  Numbers accepted by [chk] (computed in
    binary) prove that no such stack of these sizes solves composition of two hops. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state two_hops two_hops_stack.

Record hybrid := {
  hX : Type; hY : Type; hQ : Type; hC : Type; hW : Type; hSp : Type; hSq : Type;
  h_dec : forall a b : hSp, {a = b} + {a <> b};
  h_pre : hSp -> hX -> hSp * hY;  h_sp0 : hSp;         (* linear layers before F *)
  h_post : hSq -> hW -> hSq * nat; h_sq0 : hSq;        (* linear layers after F *)
  h_add : hC -> hC -> hC; h_zero : hC;
  h_assoc : forall a b c, h_add a (h_add b c) = h_add (h_add a b) c;
  h_unit : forall a, h_add h_zero a = a;
  h_query : hY -> hQ; h_contrib : hQ -> hY -> hC; h_mlp : hY -> hC -> hW;
  h_e2 : nat -> nat -> hX; h_e1 : nat -> nat -> hX; h_e0 : nat -> hX; h_ew : nat -> hX }.

Definition run_hybrid (M : hybrid) (w z0 : nat) (z1 z2 : list nat) : nat :=
  net _ _ _ _ _ _ _ (h_pre M) (h_sp0 M) (h_post M) (h_sq0 M) (h_add M) (h_zero M)
      (h_query M) (h_contrib M) (h_mlp M)
      (input _ (h_e2 M) (h_e1 M) (h_e0 M) (h_ew M) w z0 z1 z2).

(** s bits of state before F, s' after, beta bits for the partial sums over z_2. *)
Definition size_le (M : hybrid) (m n1 s s' beta : nat) : Prop :=
  let n := n1 * m + m in
  has_bits (h_pre M) (h_sp0 M) n s /\ has_bits (h_post M) (h_sq0 M) n s' /\
  exists Lb : list (hC M), length Lb <= 2 ^ beta /\
    forall z2 q, In z2 (nwords (n1 * m) (n1 * m)) ->
      In (csum _ _ _ (h_add M) (h_zero M) (h_contrib M) q
            (snd (mealy (h_pre M) (h_sp0 M) (wrv (h_e2 M) 0 z2)))) Lb.

(** Some input of composition with tables of m and n1*m entries is answered wrongly. *)
Definition errs_on_two_hops (answer : nat -> nat -> list nat -> list nat -> nat) (m n1 : nat) : Prop :=
  exists w z0 z1 z2, w < n1 /\ z0 < m /\ In z1 (nwords m m) /\ In z2 (nwords (n1 * m) (n1 * m)) /\
    answer w z0 z1 z2 <> nth (w * m + nth z0 z1 0) z2 0.

Theorem hybrid_errs (M : hybrid) (m n1 s s' beta k x1 lm : nat) :
  let x0 := s + 1 + lm * (k - 1) in
  0 < m -> 0 < n1 -> 0 < k -> 2 * (k * x1) <= m -> m <= 2 ^ lm -> x0 <= m ->
  s + x1 * (s + 1) + s + x1 * s' + beta * ((n1 + 1) * x0)
    < n1 * (k * x1) * Nat.log2 (n1 * m) ->
  size_le M m n1 s s' beta -> errs_on_two_hops (run_hybrid M) m n1.
Proof.
  intros x0 Hm Hn Hk Hkx Hlm Hx Hlt [Hpre [Hpost [Lb [L3 H5]]]].
  destruct (Hpre (n1 * m) ltac:(lia)) as [Lp [L0 Hp]]. destruct (Hpre (n1 * m + m) ltac:(lia)) as [Ls [L1 Hs]].
  destruct (Hpost (n1 * m + m) ltac:(lia)) as [Lt [L2 Ht]].
  apply net_errs. intros HC.
  pose proof (hybrid_2_bits m n1 _ _ _ _ _ _ _ (h_dec M) (h_pre M) (h_sp0 M)
    (h_post M) (h_sq0 M) (h_add M) (h_zero M) (h_assoc M) (h_unit M)
    (h_query M) (h_contrib M) (h_mlp M) (h_e2 M) (h_e1 M) (h_e0 M) (h_ew M)
    Lp Ls Lt Lb Hp Hs Ht H5 s s' beta k x1 lm x0 Hm Hn Hk Hkx Hlm eq_refl Hx L0 L1 L2 L3 HC) as B. lia.
Qed.

Local Open Scope N_scope.
(** k' = k - 1; lg bounds log2 N from below *)
Definition chk (m n1 s s' beta k' x1 lm lg : N) : bool :=
  (0 <? m) && (0 <? n1) && (2 * ((k' + 1) * x1) <=? m) && (m <=? 2 ^ lm) &&
  (s + 1 + lm * k' <=? m) && (2 ^ lg <=? n1 * m) &&
  (s + x1 * (s + 1) + s + x1 * s' + beta * ((n1 + 1) * (s + 1 + lm * k'))
     <? n1 * ((k' + 1) * x1) * lg).

Theorem chk_sound m n1 s s' beta k' x1 lm lg : chk m n1 s s' beta k' x1 lm lg = true ->
  forall M : hybrid,
  size_le M (N.to_nat m) (N.to_nat n1) (N.to_nat s) (N.to_nat s') (N.to_nat beta) ->
  errs_on_two_hops (run_hybrid M) (N.to_nat m) (N.to_nat n1).
Proof.
  intros H M HS. unfold chk in H. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le in H.
  destruct H as [[[[[[C1 C2] C3] C4] C5] C6] C7].
  apply to_nat_lt in C1, C2, C7. apply to_nat_le in C3, C4, C5, C6.
  to_nat_in C3. to_nat_in C4. to_nat_in C5. to_nat_in C6. to_nat_in C7.
  change (N.to_nat 2) with 2%nat in *. change (N.to_nat 1) with 1%nat in *.
  change (N.to_nat 0) with 0%nat in *.
  apply (hybrid_errs M _ _ (N.to_nat s) (N.to_nat s') (N.to_nat beta)
           (N.to_nat k' + 1) (N.to_nat x1) (N.to_nat lm)); rewrite ?Nat.add_sub; try assumption; try lia.
  eapply Nat.lt_le_trans; [exact C7|]. apply Nat.mul_le_mono_l.
  apply Nat.log2_le_pow2; [|exact C6].
  apply Nat.mul_pos_pos; lia.
Qed.

(** H = 8 heads of size d = 64 in p = 16 bits, a linear layer before and after:
    beta = H(d+1)p, s = s' = H d(d+1)p, at 2^32.8 tokens. *)
Example no_8_64_16 := chk_sound 2466390426 2 532480 532480 8320 36118 34142 32 32 eq_refl.
