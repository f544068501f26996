(** One sum over the tokens: what two players' tokens add to the difference of two logits is a number of the one and a
    number of the other, up to a positive factor; so no four texts cross.  Over any ordered commutative ring. *)
From Coq Require Import Ring Bool List Lia Arith NArith.
Import ListNotations.
From Limen Require Import linear_read.

Section Sum.
Variable F : numbers.
Local Notation "x + y" := (plus F x y).
Local Notation "x * y" := (times F x y).
Add Ring Fs : (num_ring F).

Lemma scaled_nonneg k x : less F (zero F) k -> ~ less F (k * x) (zero F) -> ~ less F x (zero F).
Proof.
  intros Hk H L. apply H. assert (N : less F (zero F) (negated F x)).
  { apply (less_plus F _ _ (negated F x)) in L. now replace (negated F x + x) with (zero F) in L by ring;
      replace (negated F x + zero F) with (negated F x) in L by ring. }
  pose proof (less_times F _ _ Hk N) as P. apply (less_plus F _ _ (k * x)) in P.
  now replace (k * x + zero F) with (k * x) in P by ring; replace (k * x + k * negated F x) with (zero F) in P by ring.
Qed.
Lemma scaled_nonpos k x : less F (zero F) k -> ~ less F (zero F) (k * x) -> ~ less F (zero F) x.
Proof. intros Hk H L. now apply H, less_times. Qed.
Lemma add_pos x y : less F (zero F) x -> ~ less F y (zero F) -> less F (zero F) (x + y).
Proof.
  intros Hx Hy. destruct (less_total F (zero F) y) as [P|[<-|N]]; [|now replace (x + zero F) with x by ring|contradiction].
  apply (less_trans F _ x); [exact Hx|]. apply (less_plus F _ _ x) in P. now replace (x + zero F) with x in P by ring.
Qed.

(** [says_a]: the answer is a and not b; of equal logits one of the two always wins *)
Theorem one_sum {X Y : Type} (A : X -> num F) (B : Y -> num F) (scale : X -> Y -> num F) (says_a : X -> Y -> bool) :
  (forall x y, less F (zero F) (scale x y)) ->
  (forall x y, says_a x y = true -> ~ less F (scale x y * (A x + B y)) (zero F)) ->
  (forall x y, says_a x y = false -> ~ less F (zero F) (scale x y * (A x + B y))) ->
  (forall x y x' y', scale x y * (A x + B y) = zero F -> scale x' y' * (A x' + B y') = zero F ->
    says_a x y = says_a x' y') ->
  forall x x' y y', ~ (says_a x y = true /\ says_a x' y' = true /\ says_a x y' = false /\ says_a x' y = false).
Proof.
  intros Hs Ha Hb Ht x x' y y' (E1 & E2 & E3 & E4).
  pose proof (scaled_nonneg _ _ (Hs _ _) (Ha _ _ E1)) as P1. pose proof (scaled_nonneg _ _ (Hs _ _) (Ha _ _ E2)) as P2.
  pose proof (scaled_nonpos _ _ (Hs _ _) (Hb _ _ E3)) as P3. pose proof (scaled_nonpos _ _ (Hs _ _) (Hb _ _ E4)) as P4.
  assert (Same : (A x + B y) + (A x' + B y') = (A x + B y') + (A x' + B y)) by ring.
  assert (Z1 : A x + B y = zero F).
  { destruct (less_total F (zero F) (A x + B y)) as [L|[<-|L]]; [|reflexivity|contradiction]. exfalso.
    pose proof (add_pos _ _ L P2) as Q. rewrite Same in Q.
    assert (M : forall u v, ~ less F (zero F) u -> ~ less F (zero F) v -> ~ less F (zero F) (u + v)).
    { intros u v Hu Hv L'. destruct (less_total F (zero F) u) as [U|[<-|U]]; [contradiction| |].
      - apply Hv. now replace (zero F + v) with v in L' by ring.
      - apply Hv. apply (less_trans F _ (u + v)); [exact L'|]. apply (less_plus F _ _ v) in U.
        now replace (v + u) with (u + v) in U by ring; replace (v + zero F) with v in U by ring. }
    now apply (M _ _ P3 P4). }
  assert (Z3 : A x + B y' = zero F).
  { rewrite Z1 in Same. replace (zero F + (A x' + B y')) with (A x' + B y') in Same by ring.
    destruct (less_total F (zero F) (A x + B y')) as [L|[<-|L]]; [contradiction|reflexivity|]. exfalso.
    apply P2. rewrite Same.
    destruct (less_total F (zero F) (A x' + B y)) as [V|[<-|V]]; [contradiction| |].
    - now replace (A x + B y' + zero F) with (A x + B y') by ring.
    - apply (less_trans F _ (A x + B y')); [|exact L]. apply (less_plus F _ _ (A x + B y')) in V.
      now replace (A x + B y' + zero F) with (A x + B y') in V by ring. }
  assert (D : says_a x y = says_a x y') by (apply Ht; [rewrite Z1|rewrite Z3]; ring).
  congruence.
Qed.
Lemma spread k u v u' v' : k * (minus F u v + minus F u' v') = minus F (k * (u + u')) (k * (v + v')).
Proof. ring. Qed.
End Sum.

(** * A concrete verdict: two strings of n bits, compared by one sum over their tokens *)
(** what each token adds to the logit of an answer, given the last token; [tall] is a norm's and a normaliser's factor *)
Record summing (F : numbers) := Summing {
  of_a : nat -> nat -> nat -> nat -> num F;
  of_b : nat -> nat -> nat -> nat -> num F;
  tall : list nat -> list nat -> num F;
  tall_pos : forall s t, less F (zero F) (tall s t) }.
(** Σ_i g i s_i, places counted from k *)
Fixpoint added (F : numbers) (g : nat -> nat -> num F) (k : nat) (s : list nat) : num F :=
  match s with nil => zero F | cons x s => plus F (g k x) (added F g (S k) s) end.
Definition summed (F : numbers) (M : summing F) (s t : list nat) (a : nat) : num F :=
  times F (tall F M s t) (plus F (added F (of_a F M a (last t 0)) 0 s) (added F (of_b F M a (last t 0)) 0 t)).
Definition tells_equal (F : numbers) (M : summing F) (n : nat) : Prop :=
  forall s t, length s = n -> length t = n -> (forall x, In x (s ++ t) -> x < 2) ->
  first_largest F 2 (summed F M s t) (if list_eq_dec Nat.eq_dec s t then 1 else 0).

Theorem one_sum_equality (F : numbers) (M : summing F) n : 2 <= n -> ~ tells_equal F M n.
Proof.
  intros Hn Ok. destruct n as [|[|n]]; [lia|lia|].
  set (str := fun x : bool => (if x then 1 else 0) :: repeat 1 (S n)).
  assert (Len : forall x, length (str x) = S (S n)) by (intros x; cbn; now rewrite repeat_length).
  assert (Bits : forall x y z, In z (str x ++ str y) -> z < 2).
  { intros x y z Hz. apply in_app_iff in Hz as [Hz|Hz]; (destruct Hz as [<-|Hz]; [destruct x, y; cbn; lia|]; apply repeat_spec in Hz; lia). }
  assert (Last : forall y, last (str y) 0 = 1).
  { intros y. unfold str. cbn [repeat]. clear. induction n as [|n IH]; [reflexivity|]. cbn [repeat] in *. exact IH. }
  set (A := fun x => minus F (added F (of_a F M 1 1) 0 (str x)) (added F (of_a F M 0 1) 0 (str x))).
  set (B := fun y => minus F (added F (of_b F M 1 1) 0 (str y)) (added F (of_b F M 0 1) 0 (str y))).
  assert (D : forall x y, times F (tall F M (str x) (str y)) (plus F (A x) (B y))
      = minus F (summed F M (str x) (str y) 1) (summed F M (str x) (str y) 0)).
  { intros x y. unfold summed, A, B. rewrite Last. apply spread. }
  assert (Eq : forall x y : bool, (if list_eq_dec Nat.eq_dec (str x) (str y) then 1 else 0) = if Bool.eqb x y then 1 else 0).
  { intros x y. destruct (list_eq_dec Nat.eq_dec (str x) (str y)) as [E|N], x, y; cbn; try reflexivity; try (now elim N); discriminate E. }
  refine (one_sum F A B (fun x y => tall F M (str x) (str y)) Bool.eqb _ _ _ _ true false true false _).
  - intros x y. apply tall_pos.
  - intros x y E. rewrite D. specialize (Ok (str x) (str y) (Len x) (Len y) (Bits x y)). rewrite Eq, E in Ok.
    destruct (Ok 0 ltac:(lia)) as [G _]. intros L. apply (proj1 (minus_neg F _ _)) in L.
    now apply (less_irrefl F (summed F M (str x) (str y) 0)), (less_trans F _ _ _ (G ltac:(lia))).
  - intros x y E. rewrite D. specialize (Ok (str x) (str y) (Len x) (Len y) (Bits x y)). rewrite Eq, E in Ok.
    destruct (Ok 1 ltac:(lia)) as [_ G]. intros L. apply (proj1 (minus_pos F _ _)) in L. now apply G; [lia|].
  - intros x y x' y' Z Z'. rewrite D in Z, Z'.
    assert (T : forall x y, minus F (summed F M (str x) (str y) 1) (summed F M (str x) (str y) 0) = zero F -> Bool.eqb x y = false).
    { intros u v E0. destruct (Bool.eqb u v) eqn:E; [exfalso|reflexivity].
      specialize (Ok (str u) (str v) (Len u) (Len v) (Bits u v)). rewrite Eq, E in Ok. destruct (Ok 0 ltac:(lia)) as [G _].
      specialize (G ltac:(lia)). apply (proj2 (minus_pos F _ _)) in G. rewrite E0 in G. now apply less_irrefl in G. }
    now rewrite (T _ _ Z), (T _ _ Z').
  - now repeat split.
Qed.
Theorem cannot_be_equal_summed (n : N) : (2 <=? n)%N = true ->
  forall (F : numbers) (M : summing F), ~ tells_equal F M (N.to_nat n).
Proof. intros H F M. apply one_sum_equality. apply N.leb_le in H. lia. Qed.
