(** One sum over the tokens: what two players' tokens add to the difference of two logits is a number of the one and a
    number of the other, up to a positive factor; so no four texts cross.  Over any ordered commutative ring. *)
From Coq Require Import Ring Bool.
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
End Sum.
