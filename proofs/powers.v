(** Comparing powers without writing them out: the checkers of the verdicts compute
    in binary numbers (N), the theorems speak of natural numbers (nat). *)
From Coq Require Import Arith Lia Bool PeanoNat NArith.

(** a/b is a lower bound of log2 V: from it 2^s < V^n follows with small numbers. *)
Lemma power_gap s n V a b : 2 ^ a <= V ^ b -> s * b < n * a -> 2 ^ s < V ^ n.
Proof.
  intros H L. destruct (le_lt_dec (V ^ n) (2 ^ s)) as [G|G]; [exfalso|exact G].
  assert (E : 2 ^ (n * a) <= 2 ^ (s * b)).
  { rewrite (Nat.mul_comm n a), !Nat.pow_mul_r.
    transitivity ((V ^ b) ^ n); [apply Nat.pow_le_mono_l, H|].
    rewrite <- Nat.pow_mul_r, (Nat.mul_comm b n), Nat.pow_mul_r. apply Nat.pow_le_mono_l, G. }
  apply Nat.pow_le_mono_r_iff in E; lia.
Qed.

Lemma to_nat_lt a b : (a < b)%N -> N.to_nat a < N.to_nat b. Proof. lia. Qed.
Lemma to_nat_le a b : (a <= b)%N -> N.to_nat a <= N.to_nat b. Proof. lia. Qed.
Ltac to_nat_in H := repeat first
  [rewrite N2Nat.inj_pow in H | rewrite N2Nat.inj_add in H | rewrite N2Nat.inj_mul in H].

Local Open Scope N_scope.
Definition power_exceeds (s n V a b : N) : bool := (2 ^ a <=? V ^ b) && (s * b <? n * a).

Lemma power_exceeds_sound s n V a b : power_exceeds s n V a b = true ->
  (2 ^ N.to_nat s < N.to_nat V ^ N.to_nat n)%nat.
Proof.
  unfold power_exceeds. rewrite andb_true_iff, N.leb_le, N.ltb_lt. intros [H L].
  apply to_nat_le in H. apply to_nat_lt in L. to_nat_in H. to_nat_in L.
  exact (power_gap _ _ _ _ _ H L).
Qed.
