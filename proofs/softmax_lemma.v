(** A softmax that is computed in floating point, in any order of summation, reads the
    value of the key that scores best; where several keys share the weight, their mean.

    The right key weighs e^0 = 1, exactly, and all others together at most [stray].  Then
    what is read differs from the right key's value by 2 sigma if the right key's weight is
    rounded to 1 ([softmax_exact]), and by 4 sigma and the roundings of that weight if it is
    not ([softmax_rounded]), or by 4 sigma if the quotient comes last ([softmax_deferred]);
    times the largest value, with sigma = stray (1 + u)^2 growth, growth at least (1 + acc)^n
    or at least n: 1 / (1 - n acc) while n acc < 1, e^(n acc) always, n always ([sums_size]).

    What is assumed of the arithmetic, and nothing else:
    - an addition errs by no more than either summand, and by no more than [acc] times the
      exact sum ([sums]); the sum may be taken along any tree, the signs are free.  Rounding
      to nearest does so ([nearest_add], [rounds_sums]): the second, too, for sums of
      subnormal numbers are exact;
    - a bound of e^(difference of scores, as it was computed) has room for the exponential as
      it was computed, and for the weight and its product up to (1 + u) each.  Normal numbers:
      for relative errors ([room_for_normal]).  Among subnormal ones rounding to nearest can
      do no worse than double, for 0 is a number ([nearest_doubles]): four times the bound has
      room ([room_for_subnormal]).  A bound that is a number itself (a power of two, say) is
      not exceeded by rounding ([nearest_below]);
    - the right key's weight is the number nearest to 1/Z, rounded once ([nearest_one]) or
      inside the operation and again when it is stored ([nearest_one_twice]): 1 if 1/Z is
      nearer to 1 than u/2; its product with the value is the value if the weight is 1.

    [cap] bounds the values as they are stored.  Not modelled: overflow; small numbers that
    are flushed to 0; a product that is fused with its addition, unless it is exact, as those
    of 16-bit numbers are; a maximum that runs along, so that sums are scaled again. *)
From Coq Require Import List QArith Qabs Lqa Lia ZArith Permutation.
Import ListNotations.
Local Open Scope Q_scope.
Local Arguments Qabs : simpl never.

Definition many (n : nat) : Q := inject_Z (Z.of_nat n).

Lemma Qabs_0 x : x == 0 -> Qabs x == 0.
Proof. intros E. rewrite E. reflexivity. Qed.
Lemma scaled c x y : 0 <= c -> x <= y -> c * x <= c * y.
Proof. nra. Qed.

(** * Rounding to nearest, into any set of numbers *)
Section Nearest.
Variable number : Q -> Prop.
Definition nearest (x y : Q) : Prop := number y /\ forall z, number z -> Qabs (y - x) <= Qabs (z - x).

Lemma nearest_add a b s : number a -> number b -> nearest (a + b) s ->
  Qabs (s - (a + b)) <= Qabs a /\ Qabs (s - (a + b)) <= Qabs b.
Proof.
  intros Ha Hb [_ N]. split; [apply N in Hb; rename Hb into H|apply N in Ha; rename Ha into H];
    apply (Qle_trans _ _ _ H); apply Qle_lteq; right.
  - rewrite <- (Qabs_opp a). apply Qabs_wd. ring.
  - rewrite <- (Qabs_opp b). apply Qabs_wd. ring.
Qed.
Lemma nearest_doubles x y : number 0 -> nearest x y -> Qabs y <= 2 * Qabs x.
Proof.
  intros Z [_ N]. apply N in Z.
  assert (E : Qabs (0 - x) == Qabs x) by (rewrite <- (Qabs_opp x); apply Qabs_wd; ring).
  pose proof (Qabs_triangle (y - x) x) as T.
  assert (E' : Qabs (y - x + x) == Qabs y) by (apply Qabs_wd; ring). lra.
Qed.
(** What is at most a number of the format is rounded to at most this number. *)
Lemma nearest_below x y e : number e -> x <= e -> nearest x y -> y <= e.
Proof.
  intros He L [_ N]. apply N in He. rewrite (Qabs_pos (e - x)) in He by lra.
  pose proof (Qle_Qabs (y - x)). lra.
Qed.
(** The numbers next to 1 from below are u away: what is nearer than u/2 is rounded to 1. *)
Lemma nearest_one u x y : number 1 -> (forall z, number z -> z <= 1 - u \/ 1 <= z) ->
  2 * (1 - x) < u -> x <= 1 -> nearest x y -> y == 1.
Proof.
  intros H1 Gap L Le N. pose proof (nearest_below x y 1 H1 Le N) as B. destruct N as [Hy N].
  apply N in H1. rewrite (Qabs_pos (1 - x)) in H1 by lra.
  apply Qabs_Qle_condition in H1. destruct (Gap y Hy) as [G|G]; lra.
Qed.
End Nearest.

(** Twice: inside the operation, where 1 - u/2 is a number, and when it is stored; what is
    halfway goes to 1, the even one. *)
Lemma nearest_one_twice (inside stored : Q -> Prop) u x y z : inside 1 -> inside (1 - u / 2) -> stored 1 ->
  (forall z, stored z -> z <= 1 - u \/ 1 <= z) -> (y == 1 - u / 2 -> z == 1) ->
  2 * (1 - x) < u -> x <= 1 -> nearest inside x y -> nearest stored y z -> z == 1.
Proof.
  intros I1 Ih S1 Gap Even L Le N M. pose proof (nearest_below inside x y 1 I1 Le N) as B.
  assert (E : u / 2 * 2 == u) by field. set (h := u / 2) in *.
  destruct (Qlt_le_dec (1 - h) y) as [A|A];
    [apply (nearest_one stored u y z S1 Gap); [lra|exact B|exact M]|apply Even].
  destruct N as [_ N]. apply N in Ih. rewrite (Qabs_neg (1 - h - x)) in Ih by lra.
  apply Qabs_Qle_condition in Ih. lra.
Qed.

(** How a bound of e^(difference), x, makes room for what is computed of it.  Normal numbers:
    relative errors.  Subnormal ones: of the exponential and the weight one doubles at most
    (either the exponential is normal, or the weight is rounded in the exponential's own
    format, where it cannot exceed it, as Z >= 1), and the product: 4x has room. *)
Lemma room_for_normal u x weight v cap p : 0 <= u -> 0 <= x -> 0 <= weight <= (1 + u) * x -> Qabs v <= cap ->
  Qabs p <= (1 + u) * Qabs (weight * v) -> Qabs p <= (1 + u) * (1 + u) * x * cap.
Proof.
  intros Hu Hx Hw Hv Hp. rewrite Qabs_Qmult, (Qabs_pos weight) in Hp by lra.
  pose proof (Qabs_nonneg v).
  assert (weight * Qabs v <= (1 + u) * x * cap)
    by (apply Qmult_le_compat_nonneg; split; try assumption; lra).
  assert ((1 + u) * (weight * Qabs v) <= (1 + u) * ((1 + u) * x * cap)) by (apply scaled; lra). lra.
Qed.
Lemma weight_doubles u x expo weight Z : 0 <= u -> 1 <= Z -> 0 <= x -> 0 <= expo ->
  expo <= (1 + u) * x /\ weight <= 2 * (expo / Z) \/ expo <= 2 * x /\ weight <= expo ->
  weight <= 2 * (1 + u) * x.
Proof.
  intros Hu HZ Hb He [[A B]|[A B]].
  - assert (L : expo / Z <= expo) by (apply Qle_shift_div_r; nra). nra.
  - nra.
Qed.
Lemma room_for_subnormal u x weight v cap p : 0 <= u -> 0 <= x -> 0 <= weight <= 2 * (1 + u) * x ->
  Qabs v <= cap -> Qabs p <= 2 * Qabs (weight * v) -> Qabs p <= (1 + u) * (1 + u) * (4 * x) * cap.
Proof.
  intros Hu Hx Hw Hv Hp. rewrite Qabs_Qmult, (Qabs_pos weight) in Hp by lra.
  pose proof (Qabs_nonneg v).
  assert (weight * Qabs v <= 2 * (1 + u) * x * cap)
    by (apply Qmult_le_compat_nonneg; split; try assumption; lra).
  assert (C : 0 <= x * cap) by (apply Qmult_le_0_compat; lra).
  assert (0 <= u * (x * cap)) by nra. assert (0 <= u * (u * (x * cap))) by nra. lra.
Qed.

(** * Sums along any tree *)
Section Sums.
Context {K : Type}.
Variable acc : Q.
Hypothesis acc_nonneg : 0 <= acc.

Inductive tree := leaf (k : K) | node (l r : tree).
Fixpoint leaves (t : tree) : list K :=
  match t with leaf k => [k] | node l r => leaves l ++ leaves r end.

(** [sums term t s]: adding the terms along t may give s. *)
Inductive sums (term : K -> Q) : tree -> Q -> Prop :=
| sums_leaf k s : s == term k -> sums term (leaf k) s
| sums_node l r a b s : sums term l a -> sums term r b ->
    Qabs (s - (a + b)) <= Qabs a -> Qabs (s - (a + b)) <= Qabs b ->
    Qabs (s - (a + b)) <= acc * Qabs (a + b) -> sums term (node l r) s.

Definition total (f : K -> Q) (l : list K) : Q := fold_right (fun k s => f k + s) 0 l.
Lemma total_app f l m : total f (l ++ m) == total f l + total f m.
Proof. induction l as [|k l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma total_perm f l m : Permutation l m -> total f l == total f m.
Proof. induction 1; simpl; try lra. Qed.
Lemma total_le f g l : (forall k, In k l -> f k <= g k) -> total f l <= total g l.
Proof.
  induction l as [|k l IH]; intros H; simpl; [lra|].
  pose proof (H k (or_introl eq_refl)). specialize (IH (fun k I => H k (or_intror I))). lra.
Qed.
Lemma total_scale c f l : total (fun k => c * f k) l == c * total f l.
Proof. induction l as [|k l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma total_nonneg f l : (forall k, In k l -> 0 <= f k) -> 0 <= total f l.
Proof.
  induction l as [|k l IH]; intros H; simpl; [lra|].
  pose proof (H k (or_introl eq_refl)). specialize (IH (fun k I => H k (or_intror I))). lra.
Qed.
(** (1 + acc)^n: what n additions may do to numbers of one sign. *)
Fixpoint grown (n : nat) : Q := match n with O => 1 | S n => (1 + acc) * grown n end.
Lemma grown_ge_1 n : 1 <= grown n. Proof. induction n as [|n IH]; cbn [grown]; [lra|nra]. Qed.
Lemma grown_mono n m : (n <= m)%nat -> grown n <= grown m.
Proof. induction 1 as [|m L IH]; [lra|]. cbn [grown]. pose proof (grown_ge_1 m). nra. Qed.
Lemma many_S n : many (S n) == many n + 1.
Proof. unfold many. rewrite Nat2Z.inj_succ, <- Z.add_1_r, inject_Z_plus. reflexivity. Qed.
Lemma many_nonneg n : 0 <= many n.
Proof. unfold many. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. Qed.
Lemma grown_small n : grown n * (1 - many n * acc) <= 1.
Proof.
  induction n as [|n IH]; [change (many 0) with 0; cbn [grown]; lra|]. cbn [grown]. rewrite many_S.
  pose proof (grown_ge_1 n). pose proof (many_nonneg n).
  assert (L : (1 + acc) * (1 - (many n + 1) * acc) <= 1 - many n * acc) by nra.
  assert (M : grown n * ((1 + acc) * (1 - (many n + 1) * acc)) <= grown n * (1 - many n * acc)) by nra.
  lra.
Qed.
Lemma grown_le n : many n * acc < 1 -> grown n <= / (1 - many n * acc).
Proof.
  intros H. setoid_replace (/ (1 - many n * acc)) with (1 / (1 - many n * acc)) by (unfold Qdiv; ring).
  apply Qle_shift_div_l; [lra|apply grown_small].
Qed.

Lemma leaves_positive t : (1 <= length (leaves t))%nat.
Proof. induction t; simpl; [|rewrite app_length]; lia. Qed.

(** No sum of n numbers is more than [growth] times too large: n times at most, for an
    addition errs by no more than the summand that has fewer leaves; and (1 + acc)^n times. *)
Definition enough (n : nat) (G : Q) : Prop := grown n <= G \/ many n <= G.
Lemma many_mono n m : (n <= m)%nat -> many n <= many m.
Proof. intros H. unfold many. rewrite <- Zle_Qle. lia. Qed.
Lemma many_plus n m : many (n + m) == many n + many m.
Proof. unfold many. rewrite Nat2Z.inj_add, inject_Z_plus. reflexivity. Qed.
Lemma enough_mono n m G : (n <= m)%nat -> enough m G -> enough n G.
Proof.
  intros L [H|H]; [left; apply Qle_trans with (2 := H), grown_mono, L
                  |right; apply Qle_trans with (2 := H), many_mono, L].
Qed.
Lemma triangle s a b : Qabs s <= Qabs (s - (a + b)) + Qabs a + Qabs b.
Proof.
  pose proof (Qabs_triangle (s - (a + b)) (a + b)) as T. pose proof (Qabs_triangle a b).
  assert (E : Qabs (s - (a + b) + (a + b)) == Qabs s) by (apply Qabs_wd; ring). lra.
Qed.
Lemma sums_many term t s : sums term t s ->
  Qabs s <= many (length (leaves t)) * total (fun k => Qabs (term k)) (leaves t).
Proof.
  induction 1 as [k s E|l r a b s Hl IHl Hr IHr Ea Eb _]; simpl.
  - change (many 1) with 1. rewrite E. pose proof (Qabs_nonneg (term k)). lra.
  - rewrite app_length, total_app, many_plus.
    set (Tl := total _ (leaves l)) in *. set (Tr := total _ (leaves r)) in *.
    assert (0 <= Tl) by (apply total_nonneg; intros; apply Qabs_nonneg).
    assert (0 <= Tr) by (apply total_nonneg; intros; apply Qabs_nonneg).
    pose proof (triangle s a b) as T.
    destruct (Nat.le_ge_cases (length (leaves l)) (length (leaves r))) as [L|L]; apply many_mono in L;
      pose proof (many_nonneg (length (leaves l))); pose proof (many_nonneg (length (leaves r)));
      set (x := many (length (leaves l))) in *; set (y := many (length (leaves r))) in *;
      assert (0 <= x * Tr) by (apply Qmult_le_0_compat; assumption);
      assert (0 <= y * Tl) by (apply Qmult_le_0_compat; assumption).
    + assert (x * Tl <= y * Tl) by (apply Qmult_le_compat_r; assumption).
      setoid_replace ((x + y) * (Tl + Tr)) with (x * Tl + y * Tl + x * Tr + y * Tr) by ring. lra.
    + assert (y * Tr <= x * Tr) by (apply Qmult_le_compat_r; assumption).
      setoid_replace ((x + y) * (Tl + Tr)) with (x * Tl + y * Tl + x * Tr + y * Tr) by ring. lra.
Qed.
Lemma sums_grown term t s : sums term t s ->
  Qabs s <= grown (length (leaves t)) * total (fun k => Qabs (term k)) (leaves t).
Proof.
  induction 1 as [k s E|l r a b s Hl IHl Hr IHr _ _ E]; simpl.
  - rewrite E. pose proof (Qabs_nonneg (term k)). nra.
  - rewrite app_length, total_app.
    set (Tl := total _ (leaves l)) in *. set (Tr := total _ (leaves r)) in *.
    assert (0 <= Tl) by (apply total_nonneg; intros; apply Qabs_nonneg).
    assert (0 <= Tr) by (apply total_nonneg; intros; apply Qabs_nonneg).
    assert (Sum : Qabs s <= (1 + acc) * (Qabs a + Qabs b)).
    { pose proof (Qabs_triangle (s - (a + b)) (a + b)) as T. pose proof (Qabs_triangle a b).
      assert (E' : Qabs (s - (a + b) + (a + b)) == Qabs s) by (apply Qabs_wd; ring).
      pose proof (Qabs_nonneg (a + b)). nra. }
    pose proof (leaves_positive l). pose proof (leaves_positive r).
    set (G := grown (length (leaves l) + length (leaves r))).
    assert (Gl : (1 + acc) * grown (length (leaves l)) <= G)
      by (apply (grown_mono (S (length (leaves l)))); lia).
    assert (Gr : (1 + acc) * grown (length (leaves r)) <= G)
      by (apply (grown_mono (S (length (leaves r)))); lia).
    apply (Qle_trans _ _ _ Sum).
    assert ((1 + acc) * Qabs a <= (1 + acc) * (grown (length (leaves l)) * Tl)) by nra.
    assert ((1 + acc) * Qabs b <= (1 + acc) * (grown (length (leaves r)) * Tr)) by nra.
    assert ((1 + acc) * grown (length (leaves l)) * Tl <= G * Tl) by (apply Qmult_le_compat_r; assumption).
    assert ((1 + acc) * grown (length (leaves r)) * Tr <= G * Tr) by (apply Qmult_le_compat_r; assumption).
    lra.
Qed.

Lemma sums_size term t s G : sums term t s -> enough (length (leaves t)) G ->
  Qabs s <= G * total (fun k => Qabs (term k)) (leaves t).
Proof.
  intros H E. assert (P : 0 <= total (fun k => Qabs (term k)) (leaves t))
    by (apply total_nonneg; intros; apply Qabs_nonneg).
  destruct E as [E|E]; [pose proof (sums_grown term t s H) as S|pose proof (sums_many term t s H) as S];
    apply (Qle_trans _ _ _ S), Qmult_le_compat_r; assumption.
Qed.

(** The heart: all that is added to the right key's term moves the sum by at most twice
    its size, wherever it is added. *)
Lemma sums_right term G right t s : sums term t s -> In right (leaves t) ->
  enough (length (leaves t)) G ->
  Qabs (s - term right) <= 2 * G * (total (fun k => Qabs (term k)) (leaves t) - Qabs (term right)).
Proof.
  induction 1 as [k s E|l r a b s Hl IHl Hr IHr Ea Eb _]; simpl; intros I HG.
  - destruct I as [->|[]].
    rewrite (Qabs_0 (s - term right)) by lra. lra.
  - rewrite total_app.
    pose proof (sums_size _ _ _ G Hl) as Sl'. pose proof (sums_size _ _ _ G Hr) as Sr'.
    set (Tl := total _ (leaves l)) in *. set (Tr := total _ (leaves r)) in *.
    assert (0 <= Tl) by (apply total_nonneg; intros; apply Qabs_nonneg).
    assert (0 <= Tr) by (apply total_nonneg; intros; apply Qabs_nonneg).
    rewrite app_length in HG.
    assert (Gl : enough (length (leaves l)) G) by (apply enough_mono with (2 := HG); lia).
    assert (Gr : enough (length (leaves r)) G) by (apply enough_mono with (2 := HG); lia).
    specialize (Sl' Gl). specialize (Sr' Gr).
    apply in_app_or in I. destruct I as [I|I].
    + specialize (IHl I Gl).
      pose proof (Qabs_triangle (s - (a + b)) (b + (a - term right))) as T1.
      pose proof (Qabs_triangle b (a - term right)) as T2.
      assert (E' : Qabs (s - (a + b) + (b + (a - term right))) == Qabs (s - term right))
        by (apply Qabs_wd; ring).
      lra.
    + specialize (IHr I Gr).
      pose proof (Qabs_triangle (s - (a + b)) (a + (b - term right))) as T1.
      pose proof (Qabs_triangle a (b - term right)) as T2.
      assert (E' : Qabs (s - (a + b) + (a + (b - term right))) == Qabs (s - term right))
        by (apply Qabs_wd; ring).
      lra.
Qed.

(** Numbers that are not negative: the sum is at least each of them. *)
Lemma sums_above term t s : sums term t s -> (forall k, In k (leaves t) -> 0 <= term k) ->
  0 <= s /\ forall k, In k (leaves t) -> term k <= s.
Proof.
  induction 1 as [k s E|l r a b s Hl IHl Hr IHr Ea Eb _]; simpl; intros P.
  - split; [rewrite E; auto|]. intros k' [<-|[]]. lra.
  - destruct IHl as [Pa La]; [intros; apply P, in_or_app; auto|].
    destruct IHr as [Pb Lb]; [intros; apply P, in_or_app; auto|].
    rewrite (Qabs_pos a) in Ea by assumption. rewrite (Qabs_pos b) in Eb by assumption.
    apply Qabs_Qle_condition in Ea, Eb. split; [lra|].
    intros k I. apply in_app_or in I. destruct I as [I|I]; [apply La in I|apply Lb in I]; lra.
Qed.
(** ... and near their exact sum. *)
Lemma sums_near term t s : acc <= 1 -> sums term t s -> (forall k, In k (leaves t) -> 0 <= term k) ->
  (1 - many (length (leaves t)) * acc) * total term (leaves t) <= s <=
  grown (length (leaves t)) * total term (leaves t).
Proof.
  intros A H P. split.
  - induction H as [k s E|l r a b s Hl IHl Hr IHr _ _ E]; simpl in *.
    + change (many 1) with 1. pose proof (P k (or_introl eq_refl)). nra.
    + specialize (IHl (fun k I => P k (in_or_app _ _ _ (or_introl I)))).
      specialize (IHr (fun k I => P k (in_or_app _ _ _ (or_intror I)))).
      assert (Tl : 0 <= total term (leaves l)) by (apply total_nonneg; intros; apply P, in_or_app; auto).
      assert (Tr : 0 <= total term (leaves r)) by (apply total_nonneg; intros; apply P, in_or_app; auto).
      destruct (sums_above term l a Hl) as [Pa _]; [intros; apply P, in_or_app; auto|].
      destruct (sums_above term r b Hr) as [Pb _]; [intros; apply P, in_or_app; auto|].
      rewrite (Qabs_pos (a + b)) in E by lra. apply Qabs_Qle_condition in E.
      assert (S1 : (1 - acc) * (a + b) <= s) by lra.
      rewrite app_length, total_app.
      set (x := many (length (leaves l))) in *. set (y := many (length (leaves r))) in *.
      assert (X : 1 <= x) by (unfold x, many; change 1 with (inject_Z 1); rewrite <- Zle_Qle;
        pose proof (leaves_positive l); lia).
      assert (Y : 1 <= y) by (unfold y, many; change 1 with (inject_Z 1); rewrite <- Zle_Qle;
        pose proof (leaves_positive r); lia).
      assert (XY : many (length (leaves l) + length (leaves r)) == x + y)
        by (unfold x, y, many; rewrite Nat2Z.inj_add, inject_Z_plus; reflexivity).
      rewrite XY. apply Qle_trans with (2 := S1).
      assert (Ca : (1 - acc) * ((1 - x * acc) * total term (leaves l)) <= (1 - acc) * a)
        by (apply scaled; lra).
      assert (Cb : (1 - acc) * ((1 - y * acc) * total term (leaves r)) <= (1 - acc) * b)
        by (apply scaled; lra).
      assert (Da : (1 - (x + y) * acc) * total term (leaves l) <=
          (1 - acc) * (1 - x * acc) * total term (leaves l)) by (apply Qmult_le_compat_r; [nra|exact Tl]).
      assert (Db : (1 - (x + y) * acc) * total term (leaves r) <=
          (1 - acc) * (1 - y * acc) * total term (leaves r)) by (apply Qmult_le_compat_r; [nra|exact Tr]).
      lra.
  - pose proof (sums_grown term t s H) as B.
    destruct (sums_above term t s H P) as [S0 _]. rewrite (Qabs_pos s) in B by exact S0.
    apply (Qle_trans _ _ _ B), scaled; [pose proof (grown_ge_1 (length (leaves t))); lra|].
    apply total_le. intros k I. rewrite Qabs_pos; [lra|apply P, I].
Qed.
End Sums.

Definition slack (n : nat) (acc : Q) : Q := / (1 - many n * acc).

(** * The lemma *)
Section Softmax.
Context {K : Type}.
(** [bound k] has room for the exponential, the weight and the product of k, as computed. *)
Variables (acc u stray cap : Q) (right : K) (others : list K).
Variables (bound expo : K -> Q) (v growth : Q).
Let n := length (right :: others).
Hypothesis acc_nonneg : 0 <= acc.
Hypothesis u_nonneg : 0 <= u.
(** 1 / (1 - n acc) while n acc < 1 ([grown_le]); e^(n acc), and n, for any n. *)
Hypothesis grown_growth : enough acc n growth.
Hypothesis bound_nonneg : forall k, In k others -> 0 <= bound k.
Hypothesis bound_total : total bound others <= stray.
Hypothesis expo_right : expo right == 1.
Hypothesis expo_others : forall k, In k others -> 0 <= expo k <= bound k.
Hypothesis capped : Qabs v <= cap.

Lemma growth_ge_1 : 1 <= growth.
Proof.
  destruct grown_growth as [G|G]; apply Qle_trans with (2 := G); [apply grown_ge_1, acc_nonneg|].
  change 1 with (many 1). apply many_mono. unfold n. simpl. lia.
Qed.
Lemma cap_nonneg : 0 <= cap.
Proof. apply Qle_trans with (2 := capped), Qabs_nonneg. Qed.
Lemma stray_nonneg : 0 <= stray.
Proof. apply Qle_trans with (2 := bound_total), total_nonneg, bound_nonneg. Qed.

(** What any sum over all keys differs from the right key's term. *)
Lemma sums_others term t s : Permutation (leaves t) (right :: others) -> sums acc term t s ->
  Qabs (s - term right) <= 2 * growth * total (fun k => Qabs (term k)) others.
Proof.
  intros P H. apply (Qle_trans _ (2 * growth *
    (total (fun k => Qabs (term k)) (leaves t) - Qabs (term right)))).
  - apply (sums_right acc acc_nonneg); [exact H| |].
    + apply Permutation_in with (1 := Permutation_sym P). left. reflexivity.
    + rewrite (Permutation_length P). exact grown_growth.
  - rewrite (total_perm _ _ _ P). simpl. pose proof growth_ge_1. apply Qle_lteq. right. ring.
Qed.

(** The normaliser, in any order. *)
Variables (tz : @tree K) (Z : Q).
Hypothesis all_of_Z : Permutation (leaves tz) (right :: others).
Hypothesis Z_computed : sums acc expo tz Z.

Lemma normaliser_ge_1 : 1 <= Z.
Proof.
  destruct (sums_above acc expo tz Z Z_computed) as [_ A].
  - intros k I. apply (Permutation_in _ all_of_Z) in I. destruct I as [<-|I]; [lra|].
    apply expo_others, I.
  - rewrite <- expo_right. apply A, (Permutation_in _ (Permutation_sym all_of_Z)). left. reflexivity.
Qed.
Lemma expo_total : total (fun k => Qabs (expo k)) others <= stray.
Proof.
  apply Qle_trans with (2 := bound_total), total_le.
  intros k I. destruct (expo_others k I). rewrite Qabs_pos; assumption.
Qed.
Theorem normaliser : 1 <= Z <= 1 + 2 * stray * growth.
Proof.
  split; [apply normaliser_ge_1|].
  pose proof (sums_others expo tz Z all_of_Z Z_computed) as H. rewrite expo_right in H.
  pose proof expo_total. pose proof growth_ge_1. apply Qabs_Qle_condition in H.
  assert (2 * growth * total (fun k => Qabs (expo k)) others <= 2 * growth * stray)
    by (apply scaled; [lra|assumption]).
  lra.
Qed.
Lemma inverse_of_normaliser : 0 < 1 / Z /\ 1 / Z <= 1 /\ 1 - 1 / Z <= 2 * stray * growth.
Proof.
  destruct normaliser as [L U]. assert (P : 0 < 1 / Z) by (apply Qlt_shift_div_l; lra).
  assert (B : 1 / Z <= 1) by (apply Qle_shift_div_r; lra). repeat split; try assumption.
  assert (E : 1 == 1 / Z * Z) by (field; lra).
  set (i := 1 / Z) in *. nra.
Qed.

(** The terms of the weighted sum: sums of weights times values, or of exponentials times
    values. *)
Variables (product : K -> Q) (t : @tree K) (out : Q).
Hypothesis product_others : forall k, In k others -> Qabs (product k) <= (1 + u) * (1 + u) * bound k * cap.
Hypothesis all_of_it : Permutation (leaves t) (right :: others).
Hypothesis computed : sums acc product t out.
(** what a checker computes *)
Variable sigma : Q.
Hypothesis room : stray * (1 + u) * (1 + u) * growth <= sigma.

Lemma out_near_product : Qabs (out - product right) <= 2 * sigma * cap.
Proof.
  pose proof (sums_others product t out all_of_it computed) as H. pose proof cap_nonneg as C.
  assert (T : total (fun k => Qabs (product k)) others <= (1 + u) * (1 + u) * cap * stray).
  { apply Qle_trans with (total (fun k => (1 + u) * (1 + u) * cap * bound k) others).
    - apply total_le. intros k I. apply (Qle_trans _ _ _ (product_others k I)), Qle_lteq. right. ring.
    - rewrite total_scale. apply scaled; [|exact bound_total].
      apply Qmult_le_0_compat; [apply Qmult_le_0_compat; lra|exact C]. }
  pose proof growth_ge_1. apply (Qle_trans _ _ _ H).
  apply (Qle_trans _ (2 * growth * ((1 + u) * (1 + u) * cap * stray))); [apply scaled; [lra|exact T]|].
  assert (stray * (1 + u) * (1 + u) * growth * cap <= sigma * cap)
    by (apply Qmult_le_compat_r; assumption).
  lra.
Qed.
Lemma sigma_room : 0 <= stray * growth <= sigma.
Proof.
  pose proof growth_ge_1. pose proof stray_nonneg. assert (0 <= stray * growth) by nra.
  assert (0 <= u * (2 + u)) by nra. assert (0 <= stray * growth * (u * (2 + u))) by nra. lra.
Qed.

(** ** Weights first, then their sum: alpha_k = e_k / Z, o = sum of alpha_k v_k *)

(** The right key's weight is rounded to 1: only the others blur its value. *)
Theorem softmax_exact weight :
  (2 * (1 - 1 / Z) < u -> weight == 1) -> (weight == 1 -> product right == v) -> 4 * sigma < u ->
  Qabs (out - v) <= 2 * sigma * cap.
Proof.
  intros One Same Small. pose proof out_near_product as H.
  destruct inverse_of_normaliser as [_ [_ I]]. pose proof sigma_room.
  rewrite <- Same by (apply One; lra). exact H.
Qed.

(** It is rounded to another number, inside and when it is stored: the normaliser's own
    error, 2 sigma, and the roundings of weight and product come in addition. *)
Theorem softmax_rounded weight :
  Qabs (weight - 1 / Z) <= ((1 + u) * (1 + u) - 1) * (1 / Z) ->
  Qabs (product right - weight * v) <= acc * Qabs (weight * v) ->
  Qabs (out - v) <= (4 * sigma + (1 + u) * (1 + u) * (1 + acc) - 1) * cap.
Proof.
  intros W P. pose proof out_near_product as H.
  destruct inverse_of_normaliser as [I0 [I1 I]]. pose proof sigma_room.
  pose proof cap_nonneg as C. set (i := 1 / Z) in *. set (e := (1 + u) * (1 + u) - 1) in *.
  assert (0 <= e) by (unfold e; nra).
  assert (W1 : Qabs (weight - 1) <= e + 2 * sigma).
  { pose proof (Qabs_triangle (weight - i) (i - 1)) as T.
    rewrite (Qabs_neg (i - 1)) in T by lra.
    assert (E : Qabs (weight - i + (i - 1)) == Qabs (weight - 1)) by (apply Qabs_wd; ring).
    assert (e * i <= e) by nra. lra. }
  assert (W2 : Qabs weight <= 1 + e).
  { pose proof (Qabs_triangle (weight - i) i) as T. rewrite (Qabs_pos i) in T by lra.
    assert (E : Qabs (weight - i + i) == Qabs weight) by (apply Qabs_wd; ring).
    assert ((1 + e) * i <= 1 + e) by nra. lra. }
  rewrite Qabs_Qmult in P.
  assert (V1 : Qabs ((weight - 1) * v) <= (e + 2 * sigma) * cap).
  { rewrite Qabs_Qmult. apply Qmult_le_compat_nonneg; split; try apply Qabs_nonneg; assumption. }
  assert (V2 : Qabs weight * Qabs v <= (1 + e) * cap).
  { apply Qmult_le_compat_nonneg; split; try apply Qabs_nonneg; assumption. }
  assert (P' : Qabs (product right - weight * v) <= acc * ((1 + e) * cap))
    by (apply (Qle_trans _ _ _ P), scaled; assumption).
  pose proof (Qabs_triangle (out - product right) (product right - weight * v + (weight - 1) * v)) as T1.
  pose proof (Qabs_triangle (product right - weight * v) ((weight - 1) * v)) as T2.
  assert (E : Qabs (out - product right + (product right - weight * v + (weight - 1) * v)) ==
      Qabs (out - v)) by (apply Qabs_wd; ring).
  assert (E' : (4 * sigma + (1 + u) * (1 + u) * (1 + acc) - 1) * cap ==
      2 * sigma * cap + acc * ((1 + e) * cap) + (e + 2 * sigma) * cap) by (unfold e; ring).
  lra.
Qed.

(** ** The sum first, then one quotient: o = (sum of e_k v_k) / Z, before it is rounded *)
Theorem softmax_deferred : product right == v -> Qabs (out / Z - v) <= 4 * sigma * cap.
Proof.
  intros Same. pose proof out_near_product as H. rewrite Same in H.
  pose proof cap_nonneg as C. pose proof sigma_room as R.
  destruct inverse_of_normaliser as [I0 [I1 I]]. destruct normaliser as [Z1 _].
  assert (E : Qabs (out / Z - v) == Qabs ((out - v) * (1 / Z) + v * (1 / Z - 1)))
    by (apply Qabs_wd; field; lra).
  rewrite E. set (i := 1 / Z) in *.
  pose proof (Qabs_triangle ((out - v) * i) (v * (i - 1))) as T1.
  rewrite !Qabs_Qmult, (Qabs_pos i), (Qabs_neg (i - 1)) in T1 by lra.
  pose proof (Qabs_nonneg (out - v)). pose proof (Qabs_nonneg v).
  assert (Qabs (out - v) * i <= Qabs (out - v)) by nra.
  assert (Qabs v * - (i - 1) <= cap * (2 * sigma))
    by (apply Qmult_le_compat_nonneg; split; try assumption; lra).
  lra.
Qed.
End Softmax.

(** * Several keys share the weight *)

(** What is computed, of values that are not negative, lies between two means, of [least] and
    [most] (exponential times value, at least and at most): up to a factor for the sum, one
    for what is rounded, and what small numbers lose. *)
Section Average.
Context {K : Type}.
Variables (acc w low high Z : Q) (keys : list K) (product least most lost : K -> Q).
Variables (t : @tree K) (out : Q).
Let n := length keys.
Hypothesis acc_nonneg : 0 <= acc.
Hypothesis acc_le_1 : acc <= 1.
Hypothesis few : many n * acc < 1.
Hypothesis Z_positive : 0 < Z.
Hypothesis product_nonneg : forall k, In k keys -> 0 <= product k.
Hypothesis product_near : forall k, In k keys ->
  (1 - w) * (least k / Z) - lost k <= product k <= (1 + w) * (most k / Z) + lost k.
Hypothesis all_of_it : Permutation (leaves t) keys.
Hypothesis computed : sums acc product t out.
Hypothesis w_range : 0 <= w <= 1.
Hypothesis mean_low : low * Z <= total least keys.
Hypothesis mean_high : total most keys <= high * Z.

Lemma total_affine c (f g h : K -> Q) l : (forall k, In k l -> h k == c * f k + g k) ->
  total h l == c * total f l + total g l.
Proof.
  induction l as [|k l IH]; intros H; simpl; [ring|].
  rewrite (H k) by (left; reflexivity). rewrite IH by (intros; apply H; right; assumption). ring.
Qed.
Lemma slack_positive : 0 < slack n acc.
Proof.
  pose proof (grown_ge_1 acc acc_nonneg n). pose proof (grown_le acc acc_nonneg n few) as G.
  unfold slack. lra.
Qed.
Theorem average : (1 - many n * acc) * ((1 - w) * low - total lost keys) <= out <=
  slack n acc * ((1 + w) * high + total lost keys).
Proof.
  set (L := total lost keys). pose proof slack_positive.
  destruct (sums_near acc acc_nonneg product t out acc_le_1 computed) as [OL OU].
  { intros k I. apply product_nonneg, (Permutation_in _ all_of_it), I. }
  rewrite (Permutation_length all_of_it), (total_perm _ _ _ all_of_it) in OL, OU. fold n in OL, OU.
  set (P := total product keys) in *.
  assert (P0 : 0 <= P) by (apply total_nonneg, product_nonneg).
  assert (PU : P <= (1 + w) * (total most keys / Z) + L).
  { apply Qle_trans with (total (fun k => (1 + w) * (most k / Z) + lost k) keys).
    - apply total_le. intros k I. apply product_near, I.
    - apply Qle_lteq. right.
      setoid_replace ((1 + w) * (total most keys / Z)) with ((1 + w) / Z * total most keys) by (field; lra).
      apply total_affine. intros k I. field. lra. }
  assert (PL : (1 - w) * (total least keys / Z) - L <= P).
  { apply Qle_trans with (total (fun k => (1 - w) * (least k / Z) - lost k) keys).
    - apply Qle_lteq. right. symmetry.
      setoid_replace ((1 - w) * (total least keys / Z) - L) with
        ((1 - w) / Z * total least keys + - (1) * L) by (field; lra).
      unfold L. rewrite <- (total_scale (- (1)) lost). apply total_affine. intros k I. field. lra.
    - apply total_le. intros k I. apply product_near, I. }
  assert (VL : low <= total least keys / Z) by (apply Qle_shift_div_l; assumption).
  assert (VU : total most keys / Z <= high) by (apply Qle_shift_div_r; assumption).
  split.
  - apply Qle_trans with (2 := OL), scaled; [lra|]. apply Qle_trans with (2 := PL).
    assert ((1 - w) * low <= (1 - w) * (total least keys / Z)) by (apply scaled; lra). lra.
  - apply (Qle_trans _ _ _ OU), (Qle_trans _ (slack n acc * P)).
    + apply Qmult_le_compat_r; [apply grown_le|]; assumption.
    + apply scaled; [lra|]. apply (Qle_trans _ _ _ PU).
      assert ((1 + w) * (total most keys / Z) <= (1 + w) * high) by (apply scaled; lra). lra.
Qed.
End Average.

(** A weight is rounded by w1 of itself and [eta], then a product by acc and [tiny]. *)
Lemma rounded_product acc w1 eta tiny top x a v p :
  0 <= acc <= 1 -> 0 <= w1 -> 0 <= eta -> 0 <= x -> 0 <= a -> 0 <= v <= top ->
  Qabs (a - x) <= w1 * x + eta -> Qabs (p - a * v) <= acc * (a * v) + tiny ->
  let w := (1 + w1) * (1 + acc) - 1 in let lost := (1 + acc) * eta * top + tiny in
  (1 - w) * (x * v) - lost <= p <= (1 + w) * (x * v) + lost.
Proof.
  intros Ha Hw He Hx Ha0 Hv A P w lost. apply Qabs_Qle_condition in A, P.
  assert (U : a * v <= ((1 + w1) * x + eta) * v) by (apply Qmult_le_compat_r; lra).
  assert (L : ((1 - w1) * x - eta) * v <= a * v) by (apply Qmult_le_compat_r; lra).
  assert (T : eta * v <= eta * top) by (apply scaled; lra).
  assert (U' : (1 + acc) * (a * v) <= (1 + acc) * (((1 + w1) * x + eta) * v)) by (apply scaled; lra).
  assert (L' : (1 - acc) * (((1 - w1) * x - eta) * v) <= (1 - acc) * (a * v)) by (apply scaled; lra).
  assert (T' : (1 + acc) * (eta * v) <= (1 + acc) * (eta * top)) by (apply scaled; lra).
  assert (0 <= eta * v) by nra. assert (0 <= acc * (eta * v)) by nra.
  assert (0 <= x * v) by nra. assert (0 <= acc * w1) by nra. assert (0 <= acc * w1 * (x * v)) by nra.
  unfold w, lost. split; lra.
Qed.

(** Some keys are matched and hold v; all others weigh at most sigma times as much, as their
    exponentials, weights and products have room in [bound], and hold at most [top].  A matched
    key's weight and product lose at most eta of v (a share of 1/n may be subnormal). *)
Section Shared.
Context {K : Type}.
Variables (acc w eta sigma v top : Q) (keys : list K) (hit : K -> bool).
Variables (expo product bound : K -> Q) (t : @tree K) (Z out : Q).
Let n := length keys.
Let matched := filter hit keys.
Let others := filter (fun k => negb (hit k)) keys.
Hypothesis acc_nonneg : 0 <= acc.
Hypothesis acc_le_1 : acc <= 1.
Hypothesis few : many n * acc < 1.
Hypothesis w_range : 0 <= w <= 1.
Hypothesis eta_nonneg : 0 <= eta.
Hypothesis sigma_nonneg : 0 <= sigma.
Hypothesis v_nonneg : 0 <= v.
Hypothesis top_nonneg : 0 <= top.
Hypothesis expo_nonneg : forall k, In k keys -> 0 <= expo k.
Hypothesis matched_positive : 0 < total expo matched.
Hypothesis others_expo : forall k, In k keys -> hit k = false -> expo k <= bound k.
Hypothesis others_small : total bound others <= sigma * total expo matched.
Hypothesis Z_positive : 0 < Z.
Hypothesis product_nonneg : forall k, In k keys -> 0 <= product k.
Hypothesis product_matched : forall k, In k keys -> hit k = true ->
  (1 - w) * (expo k / Z * v) - eta * v <= product k <= (1 + w) * (expo k / Z * v) + eta * v.
Hypothesis product_others : forall k, In k keys -> hit k = false ->
  product k <= (1 + w) * (bound k / Z * top).
Hypothesis all_of_it : Permutation (leaves t) keys.
Hypothesis computed : sums acc product t out.

Lemma total_by_hit x y : total (fun k => if hit k then expo k * x else bound k * y) keys ==
  x * total expo matched + y * total bound others.
Proof.
  unfold matched, others. clear. induction keys as [|k l IH]; simpl; [ring|].
  rewrite IH. destruct (hit k); simpl; ring.
Qed.
Lemma total_split : total expo keys == total expo matched + total expo others.
Proof.
  unfold matched, others. clear. induction keys as [|k l IH]; simpl; [ring|].
  rewrite IH. destruct (hit k); simpl; ring.
Qed.
Lemma total_lost : total (fun k => if hit k then eta * v else 0) keys <= many n * eta * v.
Proof.
  assert (0 <= eta * v) by nra. unfold n. clear - H. induction keys as [|k l IH]; simpl.
  - change (many 0) with 0. lra.
  - rewrite many_S. destruct (hit k); lra.
Qed.

(** Z between [lower] and [upper] times the exact sum of the matched and of all. *)
Lemma shared_between lower upper : 0 <= lower -> 0 <= upper ->
  lower * Z <= total expo matched -> total expo matched <= upper * Z ->
  (1 - many n * acc) * ((1 - w) * (lower * v) - many n * eta * v) <= out <=
  slack n acc * ((1 + w) * (upper * (v + sigma * top)) + many n * eta * v).
Proof.
  intros L0 U0 L U. set (A := total expo matched) in *. set (B := total bound others) in *.
  assert (Av : (1 - many n * acc) * ((1 - w) * (lower * v) -
        total (fun k => if hit k then eta * v else 0) keys) <= out <=
      slack n acc * ((1 + w) * (upper * (v + sigma * top)) +
        total (fun k => if hit k then eta * v else 0) keys)).
  { apply (average acc w _ _ Z keys product (fun k => if hit k then expo k * v else bound k * 0)
      (fun k => if hit k then expo k * v else bound k * top)) with (t := t); try assumption.
    - intros k I. pose proof (product_nonneg k I). destruct (hit k) eqn:Hk.
      + setoid_replace (expo k * v / Z) with (expo k / Z * v) by (field; lra).
        apply product_matched; assumption.
      + setoid_replace (bound k * 0 / Z) with 0 by (field; lra).
        setoid_replace (bound k * top / Z) with (bound k / Z * top) by (field; lra).
        pose proof (product_others k I Hk). split; lra.
    - rewrite total_by_hit. fold A B. assert (v * (lower * Z) <= v * A) by (apply scaled; assumption). lra.
    - rewrite total_by_hit. fold A B.
      assert (top * B <= top * (sigma * A)) by (apply scaled; assumption).
      assert (0 <= v + sigma * top) by nra.
      assert ((v + sigma * top) * A <= (v + sigma * top) * (upper * Z)) by (apply scaled; assumption). lra. }
  pose proof total_lost as T. set (l := total (fun k => if hit k then eta * v else 0) keys) in *.
  assert (S0 : 0 < slack n acc) by (apply slack_positive; assumption).
  destruct Av as [Al Au]. split.
  - apply Qle_trans with (2 := Al), scaled; lra.
  - apply (Qle_trans _ _ _ Au), scaled; lra.
Qed.

(** The normaliser is a sum in any order. *)
Theorem shared (tz : @tree K) : Permutation (leaves tz) keys -> sums acc expo tz Z ->
  (1 - many n * acc) * ((1 - w) * ((1 - many n * acc) / (1 + sigma) * v) - many n * eta * v) <= out <=
  slack n acc * ((1 + w) * (slack n acc * (v + sigma * top)) + many n * eta * v).
Proof.
  intros all_of_Z Z_computed. set (m := 1 - many n * acc). assert (M : 0 < m) by (unfold m; lra).
  assert (S0 : 0 < slack n acc) by (apply slack_positive; assumption).
  assert (SM : slack n acc * m == 1) by (unfold slack, m; field; lra).
  destruct (sums_near acc acc_nonneg expo tz Z acc_le_1 Z_computed) as [ZL ZU].
  { intros k I. apply expo_nonneg, (Permutation_in _ all_of_Z), I. }
  rewrite (Permutation_length all_of_Z), (total_perm _ _ _ all_of_Z) in ZL, ZU. fold n m in ZL, ZU.
  rewrite total_split in ZL, ZU.
  assert (C0 : 0 <= total expo others).
  { apply total_nonneg. intros k I. apply filter_In in I. apply expo_nonneg, I. }
  assert (CB : total expo others <= total bound others).
  { apply total_le. intros k I. apply filter_In in I. destruct I as [I H].
    apply others_expo; [exact I|]. destruct (hit k); [discriminate|reflexivity]. }
  set (A := total expo matched) in *. set (C := total expo others) in *.
  apply shared_between; [apply Qle_shift_div_l; lra|lra| |].
  - fold A. setoid_replace (m / (1 + sigma) * Z) with (m * Z / (1 + sigma)) by (field; lra).
    apply Qle_shift_div_r; [lra|].
    assert (G : grown acc n <= slack n acc) by (apply grown_le; assumption).
    assert (grown acc n * (A + C) <= slack n acc * (A + C)) by (apply Qmult_le_compat_r; lra).
    assert (m * Z <= m * (slack n acc * (A + C))) by (apply scaled; lra).
    assert (E : m * (slack n acc * (A + C)) == A + C) by (rewrite Qmult_assoc, (Qmult_comm m), SM; ring).
    lra.
  - fold A. assert (slack n acc * (m * (A + C)) <= slack n acc * Z) by (apply scaled; lra).
    assert (E : slack n acc * (m * (A + C)) == A + C) by (rewrite Qmult_assoc, SM; ring). lra.
Qed.

(** The normaliser is exactly the sum of the matched: all others have vanished. *)
Theorem shared_exactly : Z == total expo matched ->
  (1 - many n * acc) * ((1 - w) * v - many n * eta * v) <= out <=
  slack n acc * ((1 + w) * (v + sigma * top) + many n * eta * v).
Proof.
  intros E. rewrite <- (Qmult_1_l v) at 1. rewrite <- (Qmult_1_l (v + sigma * top)).
  apply shared_between; lra.
Qed.
End Shared.

(** * Small numbers vanish beside whole ones *)

(** Additions that round to the nearest number, of a format that has the whole numbers up to n
    and none closer above them than 2 acc: numbers that sum to less than acc are lost beside
    ones, in any order, and the sum is exactly the number of ones. *)
Section Vanish.
Context {K : Type}.
Variables (number : Q -> Prop) (acc : Q) (n : nat) (term : K -> Q) (hit : K -> bool).
Hypothesis acc_nonneg : 0 <= acc.
Hypothesis whole : forall i, (1 <= i <= n)%nat -> number (many i).
Hypothesis next : forall i z, (1 <= i <= n)%nat -> number z -> z <= many i \/ many i + 2 * acc <= z.

Inductive rounds : @tree K -> Q -> Prop :=
| rounds_leaf k s : s == term k -> number s -> rounds (leaf k) s
| rounds_node l r a b s : rounds l a -> rounds r b -> nearest number (a + b) s ->
    Qabs (s - (a + b)) <= acc * Qabs (a + b) -> rounds (node l r) s.

(** Rounding to nearest is an instance of what sums may do. *)
Lemma rounds_number t s : rounds t s -> number s.
Proof. induction 1 as [|l r a b s _ _ _ _ [N _] _]; assumption. Qed.
Theorem rounds_sums t s : rounds t s -> sums acc term t s.
Proof.
  induction 1 as [k s E _|l r a b s Hl IHl Hr IHr N E]; [constructor; assumption|].
  destruct (nearest_add number a b s (rounds_number _ _ Hl) (rounds_number _ _ Hr) N).
  apply (sums_node _ _ _ _ a b); assumption.
Qed.

Definition ones (t : @tree K) : nat := length (filter hit (leaves t)).
Definition small (t : @tree K) : Q := total term (filter (fun k => negb (hit k)) (leaves t)).
Lemma ones_node l r : ones (node l r) = (ones l + ones r)%nat.
Proof. unfold ones. simpl. rewrite filter_app, app_length. reflexivity. Qed.
Lemma small_node l r : small (node l r) == small l + small r.
Proof. unfold small. simpl. rewrite filter_app. apply total_app. Qed.
Lemma many_add i j : many (i + j) == many i + many j.
Proof. unfold many. rewrite Nat2Z.inj_add, inject_Z_plus. reflexivity. Qed.
Lemma many_pos i : (1 <= i)%nat -> 1 <= many i.
Proof. intros H. unfold many. change 1 with (inject_Z 1). rewrite <- Zle_Qle. lia. Qed.

Lemma vanishes a b s i : (1 <= i <= n)%nat -> a == many i -> 0 <= b < acc -> nearest number (a + b) s ->
  s == many i.
Proof.
  intros Hi Ea Hb N. pose proof (whole i Hi) as W. destruct N as [Ns N].
  pose proof (N _ W) as D. rewrite (Qabs_neg (many i - (a + b))) in D by lra.
  apply Qabs_Qle_condition in D. destruct (next i s Hi Ns); lra.
Qed.

Theorem small_ones_vanish t s : rounds t s -> (ones t <= n)%nat ->
  (forall k, In k (leaves t) -> hit k = true -> term k == 1) ->
  (forall k, In k (leaves t) -> hit k = false -> 0 <= term k) ->
  grown acc (length (leaves t)) * small t < acc -> (1 <= ones t)%nat -> s == many (ones t).
Proof.
  assert (Gr : forall i, 1 <= grown acc i) by (intros; apply grown_ge_1, acc_nonneg).
  assert (Pos : forall t, (forall k, In k (leaves t) -> hit k = false -> 0 <= term k) -> 0 <= small t).
  { intros t' H. apply total_nonneg. intros k I. apply filter_In in I. destruct I as [I E].
    apply H; [exact I|]. destruct (hit k); [discriminate|reflexivity]. }
  assert (Stray : forall t s, rounds t s -> ones t = 0%nat ->
      (forall k, In k (leaves t) -> hit k = false -> 0 <= term k) ->
      0 <= s <= grown acc (length (leaves t)) * small t).
  { intros t' s' R O P. assert (N : forall k, In k (leaves t') -> hit k = false).
    { intros k I. destruct (hit k) eqn:E; [|reflexivity]. exfalso. unfold ones in O.
      assert (In k (filter hit (leaves t'))) by (apply filter_In; auto).
      destruct (filter hit (leaves t')); [assumption|discriminate]. }
    assert (F : filter (fun k => negb (hit k)) (leaves t') = leaves t').
    { clear - N. induction (leaves t') as [|k l IH]; [reflexivity|]. simpl.
      rewrite (N k) by (left; reflexivity). simpl. rewrite IH; [reflexivity|].
      intros; apply N; right; assumption. }
    assert (P' : forall k, In k (leaves t') -> 0 <= term k) by (intros; apply P; auto).
    pose proof (rounds_sums _ _ R) as S.
    destruct (sums_above acc term t' s' S P') as [S0 _]. split; [exact S0|].
    pose proof (sums_grown acc acc_nonneg term t' s' S) as B. rewrite (Qabs_pos s') in B by exact S0.
    apply (Qle_trans _ _ _ B), scaled; [pose proof (Gr (length (leaves t'))); lra|].
    unfold small. rewrite F. apply total_le. intros k I. rewrite Qabs_pos; [lra|apply P', I]. }
  induction 1 as [k s E Ns|l r a b s Hl IHl Hr IHr N E]; intros Le One Rest Sm H1.
  - unfold ones in *. simpl in *. destruct (hit k) eqn:Hk; simpl in *; [|lia].
    rewrite E. apply One; [left; reflexivity|exact Hk].
  - rewrite ones_node in *. rewrite small_node in Sm. simpl in Sm. rewrite app_length in Sm.
    assert (Pl := Pos l (fun k I => Rest k (in_or_app _ _ _ (or_introl I)))).
    assert (Pr := Pos r (fun k I => Rest k (in_or_app _ _ _ (or_intror I)))).
    pose proof (Gr (length (leaves l) + length (leaves r))%nat) as G1.
    set (G := grown acc (length (leaves l) + length (leaves r))) in *.
    assert (Gl : grown acc (length (leaves l)) <= G) by (apply grown_mono; [exact acc_nonneg|lia]).
    assert (Gr' : grown acc (length (leaves r)) <= G) by (apply grown_mono; [exact acc_nonneg|lia]).
    assert (Sl : grown acc (length (leaves l)) * small l < acc)
      by (apply Qle_lt_trans with (2 := Sm); nra).
    assert (Sr : grown acc (length (leaves r)) * small r < acc)
      by (apply Qle_lt_trans with (2 := Sm); nra).
    assert (One_l := fun k I => One k (in_or_app _ _ _ (or_introl I))).
    assert (One_r := fun k I => One k (in_or_app _ _ _ (or_intror I))).
    assert (Rest_l := fun k I => Rest k (in_or_app _ _ _ (or_introl I))).
    assert (Rest_r := fun k I => Rest k (in_or_app _ _ _ (or_intror I))).
    destruct (Nat.eq_dec (ones l) 0) as [Ol|Ol]; [|destruct (Nat.eq_dec (ones r) 0) as [Or|Or]].
    + destruct (Stray l a Hl Ol Rest_l) as [A0 A1]. rewrite Ol in *.
      apply (vanishes b a); [simpl in *; lia|apply IHr; try assumption; simpl in *; lia|lra|].
      destruct N as [Ns N]. split; [exact Ns|]. intros z Hz. specialize (N z Hz).
      setoid_replace (s - (b + a)) with (s - (a + b)) by ring.
      setoid_replace (z - (b + a)) with (z - (a + b)) by ring. exact N.
    + destruct (Stray r b Hr Or Rest_r) as [B0 B1]. rewrite Or, Nat.add_0_r in *.
      apply (vanishes a b); [lia|apply IHl; try assumption; lia|lra|exact N].
    + rewrite many_add. rewrite <- (IHl ltac:(lia) One_l Rest_l Sl ltac:(lia)).
      rewrite <- (IHr ltac:(lia) One_r Rest_r Sr ltac:(lia)).
      assert (Ea : a == many (ones l)) by (apply IHl; try assumption; lia).
      assert (Eb : b == many (ones r)) by (apply IHr; try assumption; lia).
      destruct N as [Ns N]. pose proof (whole (ones l + ones r) ltac:(lia)) as W. apply N in W.
      rewrite (Qabs_0 (many (ones l + ones r) - (a + b))) in W by (rewrite many_add, Ea, Eb; ring).
      apply Qabs_Qle_condition in W. lra.
Qed.
End Vanish.

(** A sigma that leaves room: what a checker may compute with. *)
Lemma enough_room growth u stray : 0 <= u -> 0 <= stray -> 0 <= growth ->
  stray * (1 + u) * (1 + u) * growth <= stray * (1 + u) ^ 4 * growth.
Proof.
  intros Hu Hs Hg. assert (0 <= stray * growth) by nra. set (x := stray * growth) in *.
  setoid_replace (stray * (1 + u) * (1 + u) * growth) with (x * ((1 + u) * (1 + u))) by (unfold x; ring).
  setoid_replace (stray * (1 + u) ^ 4 * growth) with (x * ((1 + u) * (1 + u) * ((1 + u) * (1 + u)))) by (unfold x; ring).
  apply scaled; [assumption|]. assert (1 <= (1 + u) * (1 + u)) by nra. nra.
Qed.

(** * Not empty: three keys, every addition as wrong as it may be *)
Section Three.
Let tiny : Q := 1 # 1024.
Let expo (k : nat) : Q := match k with O => 1 | _ => tiny end.
Let product (k : nat) : Q := match k with O => 1 | _ => - tiny end.
Let t : @tree nat := node (node (leaf 1%nat) (leaf 0%nat)) (leaf 2%nat).
Let Z : Q := 1 + 4 * tiny.
Let out : Q := 1 - 4 * tiny.
Ltac small := apply Qle_bool_iff; reflexivity.

Example Z_may_be : sums (1 # 16) expo t Z.
Proof.
  apply (sums_node _ _ _ _ (1 + 2 * tiny) tiny); [apply (sums_node _ _ _ _ tiny 1)|constructor|..];
    try constructor; try reflexivity; small.
Qed.
Example out_may_be : sums (1 # 16) product t out.
Proof.
  apply (sums_node _ _ _ _ (1 - 2 * tiny) (- tiny)); [apply (sums_node _ _ _ _ (- tiny) 1)|constructor|..];
    try constructor; try reflexivity; small.
Qed.
Lemma all_three : Permutation (leaves t) [0; 1; 2]%nat.
Proof. apply perm_swap. Qed.

Let sigma : Q := 2 * tiny * (1 + (1 # 8)) * (1 + (1 # 8)) * slack 3 (1 # 16).
Example three_exact : Qabs (out - 1) <= 2 * sigma * 1.
Proof.
  apply (softmax_exact (1 # 16) (1 # 8) (2 * tiny) 1 0%nat [1; 2]%nat (fun _ => tiny) expo 1 (slack 3 (1 # 16)))
    with (tz := t) (Z := Z) (weight := 1) (product := product) (t := t);
    try exact all_three; try exact Z_may_be; try exact out_may_be; try small; try reflexivity;
    try (left; small); try (intros k [<-|[<-|[]]]; (split; small) || small).
Qed.
Example three_rounded : Qabs (out - 1) <=
  (4 * sigma + (1 + (1 # 8)) * (1 + (1 # 8)) * (1 + (1 # 16)) - 1) * 1.
Proof.
  apply (softmax_rounded (1 # 16) (1 # 8) (2 * tiny) 1 0%nat [1; 2]%nat (fun _ => tiny) expo 1 (slack 3 (1 # 16)))
    with (tz := t) (Z := Z) (weight := 1) (product := product) (t := t);
    try exact all_three; try exact Z_may_be; try exact out_may_be; try small; try reflexivity;
    try (left; small); try (intros k [<-|[<-|[]]]; (split; small) || small).
Qed.
Example three_deferred : Qabs (out / Z - 1) <= 4 * sigma * 1.
Proof.
  apply (softmax_deferred (1 # 16) (1 # 8) (2 * tiny) 1 0%nat [1; 2]%nat (fun _ => tiny) expo 1 (slack 3 (1 # 16)))
    with (tz := t) (product := product) (t := t);
    try exact all_three; try exact Z_may_be; try exact out_may_be; try small; try reflexivity;
    try (left; small); try (intros k [<-|[<-|[]]]; (split; small) || small).
Qed.
(** ... and of which the first is matched, the others hold 1/2 *)
Let hit (k : nat) : bool := match k with O => true | _ => false end.
Let half (k : nat) : Q := match k with O => 1 | _ => tiny / 2 end.
Example half_may_be : sums (1 # 16) half t (1 + 2 * tiny).
Proof.
  apply (sums_node _ _ _ _ (1 + tiny) (tiny / 2)); [apply (sums_node _ _ _ _ (tiny / 2) 1)|constructor|..];
    try constructor; try reflexivity; small.
Qed.
Example three_shared : let m := 1 - many 3 * (1 # 16) in let a := slack 3 (1 # 16) in
  m * ((1 - (1 # 8)) * (m / (1 + 2 * tiny) * 1) - many 3 * tiny * 1) <= 1 + 2 * tiny <=
  a * ((1 + (1 # 8)) * (a * (1 + 2 * tiny * (1 # 2))) + many 3 * tiny * 1).
Proof.
  apply (shared (1 # 16) (1 # 8) tiny (2 * tiny) 1 (1 # 2) [0; 1; 2]%nat hit expo half expo)
    with (tz := t) (t := t) (Z := Z);
    try exact all_three; try exact Z_may_be; try exact half_may_be; try small; try reflexivity;
    try (split; small); intros k [<-|[<-|[<-|[]]]]; try discriminate; try (split; small); small.
Qed.
End Three.

(** Multiples of 1/8, and 1/64: beside 1, 1/64 is lost. *)
Section Grid.
Let grid (z : Q) : Prop := (exists k, z == inject_Z k / 8) \/ z == 1 # 64.
Let hit (k : bool) : bool := k.
Let term (k : bool) : Q := if k then 1 else 1 # 64.

Lemma grid_next i z : (1 <= i <= 2)%nat -> grid z -> z <= many i \/ many i + 2 * (1 # 16) <= z.
Proof.
  intros Hi [[k E]|E].
  - assert (E8 : z * 8 == inject_Z k) by (rewrite E; field). unfold many.
    assert (I8 : inject_Z (Z.of_nat i) * 8 == inject_Z (8 * Z.of_nat i))
      by (rewrite inject_Z_mult; change (inject_Z 8) with 8; ring).
    destruct (Z_le_gt_dec k (8 * Z.of_nat i)) as [L|L].
    + left. rewrite Zle_Qle in L. lra.
    + right. assert (M : (8 * Z.of_nat i + 1 <= k)%Z) by lia.
      rewrite Zle_Qle, inject_Z_plus in M. change (inject_Z 1) with 1 in M. lra.
  - left. pose proof (many_pos i ltac:(lia)). lra.
Qed.
Example lost_beside_1 : 1 == many (ones hit (node (leaf false) (leaf true))).
Proof.
  apply (small_ones_vanish grid (1 # 16) 2 term hit).
  - lra.
  - intros i _. left. exists (8 * Z.of_nat i)%Z. unfold many. rewrite inject_Z_mult.
    change (inject_Z 8) with 8. field.
  - exact grid_next.
  - apply (rounds_node _ _ _ _ _ (1 # 64) 1).
    + constructor; [reflexivity|right; reflexivity].
    + constructor; [reflexivity|left; exists 8%Z; reflexivity].
    + split; [left; exists 8%Z; reflexivity|]. intros z Hz.
      setoid_replace (Qabs (1 - ((1 # 64) + 1))) with (1 # 64) by reflexivity.
      destruct (grid_next 1 z ltac:(lia) Hz) as [L|L]; change (many 1) with 1 in L.
      * rewrite Qabs_neg by lra. lra.
      * rewrite Qabs_pos by lra. lra.
    + apply Qle_bool_iff. reflexivity.
  - unfold ones. simpl. lia.
  - intros [] _ H; [reflexivity|discriminate].
  - intros [] _ H; [discriminate|]. apply Qle_bool_iff. reflexivity.
  - reflexivity.
  - unfold ones. simpl. lia.
Qed.
End Grid.
