(** Sizes in closed form, for every L, and a checker for them: n_l, x_l and m are powers of T = 2^tau
    whose exponents depend on L alone and grow as 2.62^L: at most (L + 2) 2^(tau whole) tokens, whole = 1, 6,
    19, 53, 142 for L = 1 ... 5, once 32 (w + s + 1) (L + 1) (4 2^[log2 (tau whole)])^L <= 2^tau.  Where
    many_hops_check.v checks numbers that are found by a search, here nothing is searched: the least tau
    is found by counting up.  Nothing is hidden in a constant. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers many_hops many_hops_stack many_hops_sizes many_hops_thoughts.

Section Explicit.
Variables j tau : nat.               (* L = j + 1 hops *)
Let lam := tau * whole j.
Let h := S (Nat.log2_up lam).
Definition explicit_m : nat := task_m (2 ^ tau) j.
Definition explicit_ns : list nat := task_ns (2 ^ tau) j.
Definition enough (w s : nat) : Prop :=
  0 < tau /\ 32 * (w + s + 1) * (j + 2) * (2 * 2 ^ S (Nat.log2_up (tau * whole j))) ^ (j + 1) <= 2 ^ tau.

Lemma T_pos' : 0 < 2 ^ tau. Proof. pose proof (Nat.pow_nonzero 2 tau). lia. Qed.
Lemma explicit_length : length explicit_ns = S j.
Proof.
  unfold explicit_ns, task_ns. cbn [length]. rewrite map_length. f_equal.
  generalize (2 ^ tau). intros T. induction j as [|i IH]; simpl; auto.
Qed.
(** At most (L + 2) 2^(tau whole) tokens. *)
Lemma explicit_tokens : size explicit_m explicit_ns + 2 <= (j + 3) * 2 ^ (tau * whole j).
Proof.
  assert (F : Forall (lt 0) explicit_ns).
  { constructor; [lia|]. apply (build_positive (2 ^ tau) j T_pos'). }
  pose proof (size_le explicit_ns F explicit_m) as G. rewrite explicit_length in G.
  assert (E : explicit_m * prod explicit_ns = 2 ^ (tau * whole j)).
  { unfold explicit_m, explicit_ns, task_ns. cbn [prod]. rewrite Nat.mul_1_l, task_power, <- Nat.pow_mul_r. reflexivity. }
  rewrite E in G.
  assert (P : 1 <= 2 ^ (tau * whole j)) by (pose proof (Nat.pow_nonzero 2 (tau * whole j)); lia). lia.
Qed.
Lemma explicit_fits w s : enough w s -> task_x0 (2 ^ tau) j <= explicit_m /\ exists plan,
  fits w w s lam 1 0 explicit_m (s + w * length (parts explicit_ns)) (task_x0 (2 ^ tau) j) (task_x0 (2 ^ tau) j)
    (task_x0 (2 ^ tau) j * length (parts explicit_ns)) explicit_ns plan.
Proof.
  intros [Ht He]. fold lam in He. fold h in He.
  assert (PL : lam <= 2 ^ Nat.log2_up lam).
  { destruct (le_lt_dec lam 1) as [G|G]; [pose proof (Nat.pow_nonzero 2 (Nat.log2_up lam)); lia|].
    apply Nat.log2_up_spec, G. }
  assert (EL : 2 ^ h = 2 * 2 ^ Nat.log2_up lam) by (unfold h; apply Nat.pow_succ_r').
  assert (P0 : 1 <= 2 ^ Nat.log2_up lam) by (pose proof (Nat.pow_nonzero 2 (Nat.log2_up lam)); lia).
  assert (Ph : h <= tau).
  { apply (Nat.pow_le_mono_r_iff 2); [lia|]. etransitivity; [|exact He].
    apply le_mul_l; [|repeat apply Nat.mul_pos_pos; lia].
    rewrite Nat.add_1_r, Nat.pow_succ_r'. apply le_mul_r; [lia|].
    pose proof (Nat.pow_nonzero (2 * 2 ^ h) j). lia. }
  split.
  - unfold explicit_m, task_m. apply le_mul_r; [lia|]. apply prod_pos, (build_positive (2 ^ tau) j T_pos').
  - apply (task_fits w s lam (2 ^ h) (2 ^ (tau - h)) (2 ^ tau)) with (most_k := j); try lia.
    + rewrite <- Nat.pow_add_r. f_equal. lia.
    + intros k Hk. etransitivity; [|exact He]. apply Nat.mul_le_mono; [apply Nat.mul_le_mono_l; lia|].
      apply Nat.pow_le_mono_r; lia.
    + rewrite task_power, <- Nat.pow_mul_r. apply Nat.le_refl.
Qed.
End Explicit.

(** kappa + T phi < L, at sizes in closed form. *)
Theorem explicit_depth_rule j tau w s : enough j tau w s ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T,
  kappa ls + T * phi ls < S j ->
  stack_size ls (size (explicit_m j tau) (explicit_ns j tau)) w s ->
  thinker_errs tok tok0 tokw read ls think T (explicit_m j tau) (explicit_ns j tau).
Proof.
  intros He H tok tok0 tokw read ls think T HR Hs. destruct (explicit_fits j tau w s He) as [Hx [plan Hf]].
  eapply thoughts_errs; [right; split; [rewrite explicit_length; exact HR|apply Nat.le_refl]|exact Hs|exact Hx|exact Hf].
Qed.

Local Open Scope N_scope.
(** 2^h bounds tau whole. *)
Definition chk_explicit (j : nat) (tau w s : N) : bool :=
  let h := N.log2_up (tau * N.of_nat (whole j)) in
  (0 <? tau) && (32 * (w + s + 1) * (N.of_nat j + 2) * (2 * 2 ^ N.succ h) ^ (N.of_nat j + 1) <=? 2 ^ tau).
Lemma log2_up_nat a : N.to_nat (N.log2_up a) = Nat.log2_up (N.to_nat a).
Proof.
  destruct (N.le_gt_cases a 1) as [G|G].
  - rewrite N.log2_up_eqn0 by exact G. symmetry. apply Nat.log2_up_eqn0. lia.
  - symmetry. apply Nat.log2_up_unique; [pose proof (N.log2_up_pos a G); lia|].
    destruct (N.log2_up_spec a G) as [A B].
    split.
    + apply to_nat_lt in A. rewrite N2Nat.inj_pow, N2Nat.inj_pred in A. exact A.
    + apply to_nat_le in B. rewrite N2Nat.inj_pow in B. exact B.
Qed.
Theorem cannot_hop_explicit j tau w s : chk_explicit j tau w s = true ->
  let t := N.to_nat tau in
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T,
  (kappa ls + T * phi ls < S j)%nat ->
  stack_size ls (size (explicit_m j t) (explicit_ns j t)) (N.to_nat w) (N.to_nat s) ->
  thinker_errs tok tok0 tokw read ls think T (explicit_m j t) (explicit_ns j t).
Proof.
  intros E t. apply explicit_depth_rule. unfold chk_explicit in E. rewrite andb_true_iff, N.ltb_lt, N.leb_le in E.
  destruct E as [E0 E]. split; [unfold t; lia|]. apply to_nat_le in E.
  repeat first [rewrite N2Nat.inj_pow in E | rewrite N2Nat.inj_mul in E | rewrite N2Nat.inj_add in E
               | rewrite N2Nat.inj_succ in E | rewrite log2_up_nat in E | rewrite Nat2N.id in E].
  exact E.
Qed.

(** 8 heads of size 64, of 66 sums each, and linear layers of 8 64 x 65 matrices of 16 bits: three full layers
    and five linear ones, four hops; nine full layers and nineteen linear ones, ten hops.  With accumulators
    of 16 bits at 2^4718 and 2^4993939 tokens; with exact sums, of 16 + log2 n bits, at 2^4824 and 2^5312701. *)
Example four_hops := cannot_hop_explicit 3 89 8448 2662400 eq_refl.
Example ten_hops := cannot_hop_explicit 9 282 8448 10117120 eq_refl.
Example four_hops_exact := cannot_hop_explicit 3 91 (528 * (16 + 91 * 53 + 3)) 2662400 eq_refl.
Example ten_hops_exact := cannot_hop_explicit 9 300 (528 * (16 + 300 * 17709 + 4)) 10117120 eq_refl.
