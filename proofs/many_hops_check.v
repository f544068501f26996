(** A verified checker for every L: numbers that it accepts (computed in binary) prove that no
    stack of these bits solves composition of these sizes. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers many_hops many_hops_stack many_hops_sizes many_hops_thoughts.
Local Open Scope N_scope.

(** [fits] in binary. *)
Section Binary.
Variables w0 w s lam lg : N.
Definition lostN (k V1 delta u p x : N) : N :=
  delta + 1 + (delta + 2) * x + s + (w0 + w * (k + 1)) * (x * (V1 + u)) + w * p.
Fixpoint fitsN (k V delta theta u p : N) (ns : list N) (plan : list (N * N * N)) : bool :=
  match ns with
  | [] => false
  | n :: ns' => let V1 := n * V in (0 <? V1) &&
    match ns' with
    | [] => (2 ^ lg <=? V1) && (delta <? n * theta * lg)
    | _ => match plan with
           | [] => false
           | (x, g, rho) :: plan' => (0 <? x) && (0 <? g) && (2 ^ rho * (g * x) <=? V1) && (V1 <=? 2 ^ lam) &&
               (delta + 2 + lam * (g - 1) <=? rho * (n * theta)) &&
               fitsN (k + 1) V1 (lostN k V1 delta u p x) (g * x) 0 (x * (V1 + u + p)) ns' plan'
           end
    end
  end.
End Binary.

Definition three (p : N * N * N) : nat * nat * nat :=
  let '(x, g, rho) := p in (N.to_nat x, N.to_nat g, N.to_nat rho).
Ltac nats := repeat first [rewrite N2Nat.inj_add | rewrite N2Nat.inj_mul | rewrite N2Nat.inj_sub | rewrite N2Nat.inj_pow].
Ltac nats_in H := repeat first
  [rewrite N2Nat.inj_add in H | rewrite N2Nat.inj_mul in H | rewrite N2Nat.inj_sub in H | rewrite N2Nat.inj_pow in H].
Lemma lostN_nat w0 w s k V1 delta u p x :
  N.to_nat (lostN w0 w s k V1 delta u p x)
  = lost (N.to_nat w0) (N.to_nat w) (N.to_nat s) (N.to_nat k) (N.to_nat V1) (N.to_nat delta) (N.to_nat u)
      (N.to_nat p) (N.to_nat x).
Proof. unfold lostN, lost. nats. reflexivity. Qed.
Lemma fitsN_sound w0 w s lam lg ns : forall k V delta theta u p plan,
  fitsN w0 w s lam lg k V delta theta u p ns plan = true ->
  fits (N.to_nat w0) (N.to_nat w) (N.to_nat s) (N.to_nat lam) (N.to_nat lg) (N.to_nat k) (N.to_nat V)
    (N.to_nat delta) (N.to_nat theta) (N.to_nat u) (N.to_nat p) (map N.to_nat ns) (map three plan).
Proof.
  induction ns as [|n ns IH]; intros k V delta theta u p plan E; [discriminate|].
  cbn [fitsN] in E. cbn [map fits]. apply andb_true_iff in E. destruct E as [E0 E].
  apply N.ltb_lt, to_nat_lt in E0. rewrite N2Nat.inj_mul in E0. split; [exact E0|].
  destruct ns as [|n' ns'].
  - apply andb_true_iff in E. destruct E as [E1 E2]. apply N.leb_le, to_nat_le in E1. apply N.ltb_lt, to_nat_lt in E2.
    nats_in E1. nats_in E2. cbn [map]. split; assumption.
  - destruct plan as [|[[x g] rho] plan]; [discriminate|].
    rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le in E. destruct E as [[[[[E1 E2] E3] E4] E5] E6].
    apply to_nat_lt in E1, E2. apply to_nat_le in E3, E4, E5. apply IH in E6.
    nats_in E3. nats_in E4. nats_in E5. rewrite lostN_nat in E6. nats_in E6.
    change (N.to_nat 0) with 0%nat in *. change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in *.
    rewrite Nat.add_1_r in E6. change (map N.to_nat (n' :: ns')) with (N.to_nat n' :: map N.to_nat ns') in *.
    repeat (split; [assumption|]). exact E6.
Qed.

Definition prodN (ns : list N) : N := fold_right N.mul 1 ns.
Lemma prodN_nat ns : N.to_nat (prodN ns) = prod (map N.to_nat ns).
Proof. induction ns as [|n ns IH]; [reflexivity|]. cbn [prodN fold_right map prod]. fold (prodN ns). nats.
rewrite IH. reflexivity. Qed.

(** Replies of w bits, or w0 where queries are raw; all states together of s bits; tables with ns parts, z_0
    below m.  The x0 values of z_0 and the plan are free, lam and lg are bounds of logarithms. *)
Definition chk_hops (w0 w s lam lg m x0 : N) (ns : list N) (plan : list (N * N * N)) : bool :=
  (x0 <=? m) && fitsN w0 w s lam lg 0 m (s + w0 * prodN ns) x0 x0 (x0 * prodN ns) ns plan.

Lemma chk_hops_sound w0 w s lam lg m x0 ns plan : chk_hops w0 w s lam lg m x0 ns plan = true ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T,
  let nats := map N.to_nat ns in
  (phi ls + T * phi ls < length ns \/ (kappa ls + T * phi ls < length ns /\ N.to_nat w <= N.to_nat w0))%nat ->
  stack_size ls (size (N.to_nat m) nats) (N.to_nat w) (N.to_nat s) ->
  thinker_errs tok tok0 tokw read ls think T (N.to_nat m) nats.
Proof.
  intros E H tok tok0 tokw read ls think T nats HR Hs. unfold chk_hops in E. apply andb_true_iff in E.
  destruct E as [E0 E].
  apply N.leb_le, to_nat_le in E0. apply fitsN_sound in E.
  nats_in E. rewrite !prodN_nat in E. fold nats in E. rewrite <- parts_length in E.
  eapply thoughts_errs; [|exact Hs|exact E0|exact E]. unfold nats. rewrite map_length. exact HR.
Qed.
(** Fewer full layers than hops, linear layers anywhere. *)
Theorem cannot_hop_hybrid w s lam lg m x0 ns plan : chk_hops 0 w s lam lg m x0 ns plan = true ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)), (phi ls < length ns)%nat ->
  stack_size ls (size (N.to_nat m) (map N.to_nat ns)) (N.to_nat w) (N.to_nat s) ->
  errs tok tok0 tokw read ls (N.to_nat m) (map N.to_nat ns).
Proof.
  intros E H tok tok0 tokw read ls HF. apply (chk_hops_sound _ _ _ _ _ _ _ _ _ E H tok tok0 tokw read ls (fun _ _ => tok0 0%nat) 0).
  left. lia.
Qed.
(** kappa < L: so as many full layers as hops, too, if no linear layer stands before the second. *)
Theorem cannot_hop w s lam lg m x0 ns plan : chk_hops w w s lam lg m x0 ns plan = true ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)), (kappa ls < length ns)%nat ->
  stack_size ls (size (N.to_nat m) (map N.to_nat ns)) (N.to_nat w) (N.to_nat s) ->
  errs tok tok0 tokw read ls (N.to_nat m) (map N.to_nat ns).
Proof.
  intros E H tok tok0 tokw read ls HF. apply (chk_hops_sound _ _ _ _ _ _ _ _ _ E H tok tok0 tokw read ls (fun _ _ => tok0 0%nat) 0).
  right. lia.
Qed.
(** kappa + T phi < L. *)
Theorem cannot_hop_thinking w s lam lg m x0 ns plan : chk_hops w w s lam lg m x0 ns plan = true ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T,
  (kappa ls + T * phi ls < length ns)%nat ->
  stack_size ls (size (N.to_nat m) (map N.to_nat ns)) (N.to_nat w) (N.to_nat s) ->
  thinker_errs tok tok0 tokw read ls think T (N.to_nat m) (map N.to_nat ns).
Proof.
  intros E H tok tok0 tokw read ls think T HR.
  apply (chk_hops_sound _ _ _ _ _ _ _ _ _ E H tok tok0 tokw read ls think T).
  right. lia.
Qed.
(** The same where all full layers of all passes are fewer than hops, linear layers anywhere: no reply is raw. *)
Theorem cannot_hop_thinking_hybrid w s lam lg m x0 ns plan : chk_hops 0 w s lam lg m x0 ns plan = true ->
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)) think T,
  (phi ls + T * phi ls < length ns)%nat ->
  stack_size ls (size (N.to_nat m) (map N.to_nat ns)) (N.to_nat w) (N.to_nat s) ->
  thinker_errs tok tok0 tokw read ls think T (N.to_nat m) (map N.to_nat ns).
Proof.
  intros E H tok tok0 tokw read ls think T HR.
  apply (chk_hops_sound _ _ _ _ _ _ _ _ _ E H tok tok0 tokw read ls think T). left. exact HR.
Qed.

(** ** Examples
    Sizes at which the answer has fewer bits than the last token hears, so that a bound says something.
    11,934 tokens, two hops: sums of 14 bits, all states together of 14 bits.  One full layer and linear
    layers anywhere do not do it; one linear and two full ones of the same 14 bits do ([chaser] of
    many_hops_attained.v). *)
Example two_hops_at_14_bits := cannot_hop_hybrid 14 14 7 13 76 23 [1; 156] [(19, 2, 1)] eq_refl.
(** Two full layers of sums of 27 bits, linear layers of no bits after them, at 2^26.7 tokens. *)
Example two_hops_full := cannot_hop 27 0 18 26 183046 48991 [1; 594] [(50, 1830, 1)] eq_refl.
(** Three hops, two full layers and linear layers, sums of 113 bits and states of 113, at 2^112.7 tokens. *)
Example three_hops_at_113_bits := cannot_hop_hybrid 113 113 95 112 8228666799070 210
  [1; 2928663166562278; 342484] [(12337584543, 2, 1); (30945, 389384284445794641558692, 1)] eq_refl.
(** One hop of four entries: exactly the bits that four entries have are too many. *)
Example one_hop_needs := cannot_hop_hybrid 0 7 0 2 4 4 [1] [] eq_refl.
Fail Example one_hop_of_8_bits := cannot_hop_hybrid 0 8 0 2 4 4 [1] [] eq_refl.
