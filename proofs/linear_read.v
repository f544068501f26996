(** A state that is read by an affine map: v answers that can be chosen freely need v numbers,
    over any ordered commutative ring (the integers, the rationals, the reals), whatever
    is written into the state and at any precision. *)
From Coq Require Import List Ring Permutation Lia Arith NArith ZArith Bool.
Import ListNotations.

Section OrderedRing.
Variables (K : Type) (O I : K) (add mul sub : K -> K -> K) (opp : K -> K) (lt : K -> K -> Prop).
Hypothesis RT : ring_theory O I add mul sub opp (@eq K).
Hypothesis lt_irrefl : forall x, ~ lt x x.
Hypothesis lt_trans : forall x y z, lt x y -> lt y z -> lt x z.
Hypothesis lt_total : forall x y, lt x y \/ x = y \/ lt y x.
Hypothesis lt_add : forall x y z, lt x y -> lt (add z x) (add z y).
Hypothesis lt_mul : forall x y, lt O x -> lt O y -> lt O (mul x y).
Hypothesis lt_one : lt O I.
Add Ring Kr : RT.
Local Infix "+" := add. Local Infix "*" := mul. Local Infix "-" := sub.
Local Notation "- x" := (opp x).
Definition le (x y : K) : Prop := ~ lt y x.

Lemma pos_add x y : lt O x -> le O y -> lt O (x + y).
Proof.
  intros Hx Hy. destruct (lt_total O y) as [P|[<-|N]]; [|replace (x + O) with x by ring; exact Hx|now elim Hy].
  apply lt_trans with x; [exact Hx|]. replace x with (x + O) at 1 by ring. now apply lt_add.
Qed.
Lemma le_add x y : le O x -> le O y -> le O (x + y).
Proof.
  intros Hx Hy. destruct (lt_total O x) as [P|[<-|N]]; [|replace (O + y) with y by ring; exact Hy|now elim Hx].
  intros L. apply (lt_irrefl O), (lt_trans _ (x + y)); [now apply pos_add|exact L].
Qed.
Lemma neg_pos x : lt x O -> lt O (- x).
Proof. intros H. apply (lt_add _ _ (- x)) in H. now replace (- x + x) with O in H by ring; replace (- x + O) with (- x) in H by ring. Qed.
Lemma mul_nonzero x y : x <> O -> y <> O -> x * y <> O.
Proof.
  assert (P : forall x, x <> O -> lt O x \/ lt O (- x)).
  { intros z Hz. destruct (lt_total O z) as [H|[H|H]]; auto; [congruence|right; now apply neg_pos]. }
  intros Hx Hy E. destruct (P x Hx) as [A|A], (P y Hy) as [B|B]; pose proof (lt_mul _ _ A B) as L; revert L.
  - rewrite E. apply lt_irrefl.
  - replace (x * - y) with (- (x * y)) by ring. rewrite E. replace (- O) with O by ring. apply lt_irrefl.
  - replace (- x * y) with (- (x * y)) by ring. rewrite E. replace (- O) with O by ring. apply lt_irrefl.
  - replace (- x * - y) with (x * y) by ring. rewrite E. apply lt_irrefl.
Qed.
Lemma mul_le x y : lt O x -> le O y -> le O (x * y).
Proof.
  intros Hx Hy. destruct (lt_total O y) as [P|[<-|N]]; [|replace (x * O) with O by ring; apply lt_irrefl|now elim Hy].
  intros L. apply (lt_irrefl O), (lt_trans _ (x * y)); auto.
Qed.

(** * More vectors than coordinates are dependent: elimination without division *)
Section Vectors.
Context {J : Type}.   (* names of coordinates *)
Definition comb (ps : list (K * (J -> K))) (j : J) : K := fold_right (fun p s => fst p * snd p j + s) O ps.

Lemma comb_cons p ps j : comb (p :: ps) j = fst p * snd p j + comb ps j.
Proof. reflexivity. Qed.
Lemma comb_nil j : comb [] j = O.
Proof. reflexivity. Qed.
Lemma comb_perm ps ps' j : Permutation ps ps' -> comb ps j = comb ps' j.
Proof.
  intros P. unfold comb. induction P as [|x l l' _ IH|x y l|l l' l'' _ IH _ IH']; cbn; [reflexivity|now rewrite IH|ring|congruence].
Qed.

Lemma dependent (js : list J) : forall qs : list (J -> K), length js < length qs ->
  exists ps, map snd ps = qs /\ (exists p, In p ps /\ fst p <> O) /\ forall j, In j js -> comb ps j = O.
Proof.
  induction js as [|j0 js IH]; intros qs L; cbn in L.
  - destruct qs as [|q qs]; [cbn in L; lia|]. exists (map (fun q => (I, q)) (q :: qs)). repeat split.
    + rewrite map_map. apply map_id.
    + exists (I, q). split; [now left|]. cbn. intros E. apply (lt_irrefl O). rewrite <- E at 2. exact lt_one.
    + intros j [].
  - assert (D : (exists p, In p qs /\ p j0 <> O) \/ forall p, In p qs -> p j0 = O).
    { clear - lt_total lt_irrefl. induction qs as [|q qs [(p & Hp & N)|A]]; [right; intros p []| |].
      - left. exists p. split; [now right|exact N].
      - destruct (lt_total O (q j0)) as [H|[H|H]].
        + left. exists q. split; [now left|]. intros E. rewrite E in H. now apply lt_irrefl in H.
        + right. intros p [<-|Hp]; auto.
        + left. exists q. split; [now left|]. intros E. rewrite E in H. now apply lt_irrefl in H. }
    destruct D as [(p & Hp & N)|A].
    + destruct (in_split _ _ Hp) as (l1 & l2 & ->). set (rest := l1 ++ l2).
      set (el := fun x : J -> K => fun j => p j0 * x j - x j0 * p j).
      destruct (IH (map el rest)) as (ps & E & (m & Hm & Nm) & Z).
      { unfold rest. rewrite map_length. rewrite app_length in *. cbn in L. lia. }
      (* the multipliers of the rest, in its own vectors *)
      assert (X : exists ts, map snd ts = rest /\ map fst ts = map fst ps).
      { revert E. generalize rest. clear. intros r. revert ps. induction r as [|x r IH]; intros [|[a b] ps] E; try discriminate.
        - now exists [].
        - injection E as _ E. destruct (IH ps E) as (ts & <- & F). exists ((a, x) :: ts). cbn. now rewrite F. }
      destruct X as (ts & Er & Ef).
      set (up := map (fun t => (p j0 * fst t, snd t)) ts).
      assert (C : forall j, comb up j = p j0 * comb ts j).
      { intros j. unfold up. clear - RT. induction ts as [|t ts IH]; cbn [map]; [rewrite !comb_nil; ring|].
        rewrite !comb_cons, IH. cbn [fst snd]. ring. }
      assert (C' : forall j, comb ps j = p j0 * comb ts j - comb ts j0 * p j).
      { intros j. assert (E' : map snd ps = map el (map snd ts)) by now rewrite Er. revert E' Ef. clear - RT. revert ps.
        induction ts as [|t ts IH]; intros [|a ps] E' Ef; try discriminate; [rewrite !comb_nil; ring|].
        injection E' as Ea E'. injection Ef as Eb Ef. rewrite !comb_cons, (IH ps E' Ef), Ea, <- Eb. unfold el. ring. }
      set (all := (- comb ts j0, p) :: up).
      assert (S : map snd all = p :: rest).
      { unfold all, up. cbn. rewrite map_map. cbn. now rewrite <- Er. }
      assert (Pm : Permutation (l1 ++ p :: l2) (map snd all)).
      { rewrite S. apply Permutation_sym, Permutation_middle. }
      destruct (Permutation_map_inv _ _ Pm) as (fin & Ef' & Pf).
      exists fin. repeat split; [now symmetry| |].
      * assert (Hin : exists t, In t ts /\ fst t = fst m).
        { assert (H : In (fst m) (map fst ts)) by (rewrite Ef; now apply in_map). apply in_map_iff in H as (t & Et & Ht). eauto. }
        destruct Hin as (t & Ht & Et). exists (p j0 * fst t, snd t). split.
        -- apply (Permutation_in _ Pf). right. unfold up. apply (in_map (fun t => (p j0 * fst t, snd t))) in Ht. exact Ht.
        -- cbn. apply mul_nonzero; [exact N|]. now rewrite Et.
      * intros j Hj. rewrite <- (comb_perm _ _ j Pf). unfold all. rewrite comb_cons, C. cbn [fst snd].
        replace (- comb ts j0 * p j + p j0 * comb ts j) with (p j0 * comb ts j - comb ts j0 * p j) by ring.
        rewrite <- C'. destruct Hj as [<-|Hj]; [rewrite C'; ring|now apply Z].
    + destruct (IH qs) as (ps & E & Np & Z); [lia|]. exists ps. repeat split; auto.
      intros j [<-|Hj]; auto. rewrite <- E in A. clear - A RT. induction ps as [|q ps IH]; [reflexivity|].
      rewrite comb_cons, (A (snd q)) by now left. rewrite IH; [ring|]. intros p Hp. apply A. now right.
Qed.
Definition dot (js : list J) (x y : J -> K) : K := fold_right (fun j s => x j * y j + s) O js.
End Vectors.

(** * The theorem: [v] free answers, [S1] numbers *)
Section Read.
Context {Pre Suf J : Type}.
Variables (js : list J) (w : Pre -> J -> K) (c : Suf -> K) (q : Suf -> J -> K).
(** the difference of the two logits, up to a positive factor that may depend on everything (a norm) *)
Definition f (x : Suf) (p : Pre) : K := c x + dot js (q x) (w p).
Variables (diff : Suf -> Pre -> K) (scale : Suf -> Pre -> K).
Hypothesis scaled : forall x p, lt O (scale x p) /\ diff x p = scale x p * f x p.
(** [true]: the answer is a, [false]: it is b; of equals one is preferred, whatever the prefix *)
Variable answer : Suf -> Pre -> bool.
Hypothesis says_a : forall x p, answer x p = true -> le O (diff x p).
Hypothesis says_b : forall x p, answer x p = false -> le (diff x p) O.
Hypothesis tie : forall x p p', diff x p = O -> diff x p' = O -> answer x p = answer x p'.

Lemma f_a x p : answer x p = true -> le O (f x p).
Proof.
  intros H L. apply (says_a _ _ H). destruct (scaled x p) as [P ->].
  pose proof (lt_mul _ _ P (neg_pos _ L)) as M. replace (scale x p * - f x p) with (- (scale x p * f x p)) in M by ring.
  apply neg_pos in L. apply (lt_add _ _ (scale x p * f x p)) in M.
  replace (scale x p * f x p + O) with (scale x p * f x p) in M by ring.
  now replace (scale x p * f x p + - (scale x p * f x p)) with O in M by ring.
Qed.
Lemma f_b x p : answer x p = false -> le (f x p) O.
Proof. intros H L. apply (says_b _ _ H). destruct (scaled x p) as [P ->]. now apply lt_mul. Qed.
Lemma f_tie x p p' : f x p = O -> f x p' = O -> answer x p = answer x p'.
Proof.
  intros E E'. apply tie; [destruct (scaled x p) as [_ ->]|destruct (scaled x p') as [_ ->]].
  - rewrite E. ring. 
  - rewrite E'. ring.
Qed.

(** Σ λ_i f_i, and that it does not depend on the prefix where Σ λ_i q_i = 0 *)
Definition total (ls : list (K * Suf)) (p : Pre) : K := fold_right (fun l s => fst l * f (snd l) p + s) O ls.
Definition lifted (ls : list (K * Suf)) := map (fun l => (fst l, q (snd l))) ls.
Lemma dot_comb (ps : list (K * (J -> K))) u (js' : list J) :
  fold_right (fun l s => fst l * (fun v : J -> K => fold_right (fun j s => v j * u j + s) O js') (snd l) + s) O ps
  = fold_right (fun j s => comb ps j * u j + s) O js'.
Proof.
  induction js' as [|j js' IH]; cbn [fold_right].
  - induction ps as [|p ps IHp]; cbn; [reflexivity|]. cbn in IHp. rewrite IHp. ring.
  - rewrite <- IH. clear IH. generalize (fun v : J -> K => fold_right (fun j s => v j * u j + s) O js'). intros g.
    induction ps as [|p ps IHp]; [rewrite comb_nil; cbn; ring|]. rewrite comb_cons. cbn [fold_right]. rewrite IHp. ring.
Qed.
Lemma constant ls p p' : (forall j, In j js -> comb (lifted ls) j = O) -> total ls p = total ls p'.
Proof.
  intros Z.
  assert (D : forall p, fold_right (fun l s => fst l * dot js (q (snd l)) (w p) + s) O ls = O).
  { intros r. transitivity (fold_right (fun j s => comb (lifted ls) j * w r j + s) O js).
    - rewrite <- dot_comb. unfold lifted, dot. clear. induction ls as [|l ls IH]; cbn; [reflexivity|]. now rewrite IH.
    - revert Z. generalize js as l. clear - RT. induction l as [|j l IH]; intros Z; cbn; [reflexivity|].
      rewrite Z by now left. rewrite IH; [ring|]. intros i Hi. apply Z. now right. }
  assert (T : forall p, total ls p = fold_right (fun l s => fst l * c (snd l) + s) O ls
                                     + fold_right (fun l s => fst l * dot js (q (snd l)) (w p) + s) O ls).
  { intros r. clear - RT. induction ls as [|l ls IH]; cbn; [ring|]. unfold total in IH. rewrite IH. unfold f. ring. }
  rewrite (T p), (T p'), !D. reflexivity.
Qed.
(** a total of terms that are all >= 0 is >= 0, and if it is 0 so is each *)
Lemma total_nonneg ls p : (forall l, In l ls -> le O (fst l * f (snd l) p)) -> le O (total ls p)
  /\ (total ls p = O -> forall l, In l ls -> fst l * f (snd l) p = O).
Proof.
  induction ls as [|l ls IH]; intros H; cbn.
  - split; [apply lt_irrefl|intros _ l []].
  - destruct IH as [A B]; [intros k Hk; apply H; now right|]. pose proof (H l (or_introl eq_refl)) as Hl. split; [now apply le_add|].
    intros E. assert (El : fst l * f (snd l) p = O).
    { destruct (lt_total O (fst l * f (snd l) p)) as [L|[L|L]]; [|now symmetry|now elim Hl].
      elim (lt_irrefl O). rewrite <- E at 2. now apply pos_add. }
    intros k [<-|Hk]; [exact El|]. apply B; [|exact Hk]. rewrite El in E. transitivity (O + total ls p); [ring|exact E].
Qed.

Definition free (xs : list Suf) : Prop :=
  forall bs, length bs = length xs -> exists p, map (fun x => answer x p) xs = bs.

(** words that say a exactly where s λ > 0 *)
Lemma word (s : K) (ls : list (K * Suf)) : exists bs, length bs = length ls /\
  forall p, map (fun l => answer (snd l) p) ls = bs ->
  forall l, In l ls -> (lt O (s * fst l) -> answer (snd l) p = true) /\ (lt (s * fst l) O -> answer (snd l) p = false).
Proof.
  induction ls as [|l ls (bs & E & H)]; [exists []; split; [reflexivity|intros p _ l []]|].
  assert (B : exists b, (lt O (s * fst l) -> b = true) /\ (lt (s * fst l) O -> b = false)).
  { destruct (lt_total O (s * fst l)) as [L|[L|L]].
    - exists true. split; [reflexivity|]. intros M. elim (lt_irrefl O). now apply lt_trans with (s * fst l).
    - exists true. rewrite <- L. split; intros M; now apply lt_irrefl in M.
    - exists false. split; [|reflexivity]. intros M. elim (lt_irrefl O). now apply lt_trans with (s * fst l). }
  destruct B as (b & Ba & Bb). exists (b :: bs). split; [cbn; now rewrite E|].
  intros p M k [<-|Hk]; injection M as M1 M2; [rewrite M1; auto|now apply (H p M2)].
Qed.

Theorem linear_read xs : free xs -> length xs <= length js.
Proof.
  intros F. destruct (le_lt_dec (length xs) (length js)) as [L|L]; [exact L|exfalso].
  destruct (dependent js (map q xs)) as (ps & E & (m & Hm & Nm) & Z); [now rewrite map_length|].
  assert (X : exists ls, map snd ls = xs /\ lifted ls = ps).
  { revert E. clear. revert xs. induction ps as [|[a b] ps IH]; intros [|x xs] E; try discriminate.
    - now exists [].
    - injection E as E1 E2. destruct (IH xs E2) as (ls & <- & <-). exists ((a, x) :: ls). cbn. now rewrite E1. }
  destruct X as (ls & Ex & El). subst ps.
  unfold lifted in Hm. apply in_map_iff in Hm as (k & <- & Hk). cbn in Nm.
  assert (M : forall bs p, map (fun x => answer x p) xs = bs -> map (fun l => answer (snd l) p) ls = bs).
  { intros bs p <-. rewrite <- Ex, map_map. reflexivity. }
  assert (Len : length ls = length xs) by now rewrite <- Ex, map_length.
  destruct (word I ls) as (b1 & L1 & W1), (word (- I) ls) as (b2 & L2 & W2).
  destruct (F b1) as (p1 & M1); [congruence|]. destruct (F b2) as (p2 & M2); [congruence|].
  specialize (W1 p1 (M _ _ M1)). specialize (W2 p2 (M _ _ M2)).
  assert (A1 : forall l, In l ls -> le O (fst l * f (snd l) p1)).
  { intros l Hl. destruct (W1 l Hl) as [Wa Wb]. replace (I * fst l) with (fst l) in Wa, Wb by ring.
    destruct (lt_total O (fst l)) as [P|[P|P]].
    - apply mul_le; [exact P|]. now apply f_a, Wa.
    - rewrite <- P. replace (O * f (snd l) p1) with O by ring. apply lt_irrefl.
    - replace (fst l * f (snd l) p1) with (- fst l * - f (snd l) p1) by ring. apply mul_le; [now apply neg_pos|].
      pose proof (f_b _ _ (Wb P)) as G. intros N. apply G. apply neg_pos in N.
      now replace (- - f (snd l) p1) with (f (snd l) p1) in N by ring. }
  assert (A2 : forall l, In l ls -> le O (fst l * - f (snd l) p2)).
  { intros l Hl. destruct (W2 l Hl) as [Wa Wb]. replace (- I * fst l) with (- fst l) in Wa, Wb by ring.
    destruct (lt_total O (fst l)) as [P|[P|P]].
    - apply mul_le; [exact P|]. assert (Q : lt (- fst l) O).
      { apply (lt_add _ _ (- fst l)) in P. now replace (- fst l + O) with (- fst l) in P by ring; replace (- fst l + fst l) with O in P by ring. }
      pose proof (f_b _ _ (Wb Q)) as G. intros N. apply G. apply neg_pos in N.
      now replace (- - f (snd l) p2) with (f (snd l) p2) in N by ring.
    - rewrite <- P. replace (O * - f (snd l) p2) with O by ring. apply lt_irrefl.
    - replace (fst l * - f (snd l) p2) with (- fst l * f (snd l) p2) by ring. apply mul_le; [now apply neg_pos|]. now apply f_a, Wa, neg_pos. }
  destruct (total_nonneg ls p1 A1) as [T1 Z1].
  (* the same with the opposite multipliers *)
  set (op := map (fun l : K * Suf => (- fst l, snd l)) ls).
  assert (Op : forall p, total op p = - total ls p).
  { intros p. unfold op, total. clear - RT. induction ls as [|l ls IH]; cbn; [ring|]. rewrite IH. ring. }
  destruct (total_nonneg op p2) as [T2 Z2].
  { unfold op. intros l Hl. apply in_map_iff in Hl as (l' & <- & Hl). cbn.
    replace (- fst l' * f (snd l') p2) with (fst l' * - f (snd l') p2) by ring. now apply A2. }
  rewrite Op, <- (constant ls p1 p2 Z) in T2, Z2.
  assert (T0 : total ls p1 = O).
  { destruct (lt_total O (total ls p1)) as [P|[P|P]]; [|now symmetry|now elim T1].
    elim T2. apply (lt_add _ _ (- total ls p1)) in P.
    now replace (- total ls p1 + O) with (- total ls p1) in P by ring; replace (- total ls p1 + total ls p1) with O in P by ring. }
  pose proof (Z1 T0 k Hk) as E1.
  assert (E2 : - fst k * f (snd k) p2 = O).
  { apply (Z2 ltac:(rewrite T0; ring) (- fst k, snd k)). unfold op.
    apply (in_map (fun l : K * Suf => (- fst l, snd l))) in Hk. exact Hk. }
  assert (G : forall p, fst k * f (snd k) p = O -> f (snd k) p = O).
  { intros p E0. destruct (lt_total O (f (snd k) p)) as [P|[P|P]]; [|now symmetry|];
      exfalso; apply (mul_nonzero (fst k) (f (snd k) p)) in Nm; auto; intros Q; rewrite Q in P; now apply lt_irrefl in P. }
  assert (Same : answer (snd k) p1 = answer (snd k) p2).
  { apply f_tie; apply G; [exact E1|]. replace (fst k * f (snd k) p2) with (- (- fst k * f (snd k) p2)) by ring. rewrite E2. ring. }
  destruct (W1 k Hk) as [Wa Wb], (W2 k Hk) as [Wc Wd].
  replace (I * fst k) with (fst k) in Wa, Wb by ring. replace (- I * fst k) with (- fst k) in Wc, Wd by ring.
  destruct (lt_total O (fst k)) as [P|[P|P]]; [|now elim Nm|].
  - rewrite (Wa P), Wd in Same; [discriminate|]. apply (lt_add _ _ (- fst k)) in P.
    now replace (- fst k + O) with (- fst k) in P by ring; replace (- fst k + fst k) with O in P by ring.
  - rewrite (Wb P), Wc in Same; [discriminate|now apply neg_pos].
Qed.
End Read.

(** * The layer: a matrix a head, S <- A S + C while the later tokens are read, then q^T S, W_O and the readout *)
Section Layer.
Context {Tok : Type}.
Variables (heads keys values : list nat).
Definition state := nat -> nat -> nat -> K.
Definition Sum {X} (g : X -> K) (l : list X) : K := fold_right (fun x s => g x + s) O l.
Lemma Sum_add {X} (g h : X -> K) l : Sum (fun x => g x + h x) l = Sum g l + Sum h l.
Proof. induction l as [|x l IH]; cbn; [ring|]. unfold Sum in IH. rewrite IH. ring. Qed.
Lemma Sum_scale {X} k (g : X -> K) l : Sum (fun x => k * g x) l = k * Sum g l.
Proof. induction l as [|x l IH]; cbn; [ring|]. unfold Sum in IH. rewrite IH. ring. Qed.
Lemma Sum_ext {X} (g h : X -> K) l : (forall x, g x = h x) -> Sum g l = Sum h l.
Proof. intros E. induction l as [|x l IH]; cbn; [reflexivity|]. unfold Sum in IH. now rewrite IH, E. Qed.
Lemma Sum_zero {X} (l : list X) : Sum (fun _ => O) l = O.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. unfold Sum in IH. rewrite IH. ring. Qed.
Lemma Sum_swap {X Y} (g : X -> Y -> K) l m : Sum (fun x => Sum (g x) m) l = Sum (fun y => Sum (fun x => g x y) l) m.
Proof.
  induction l as [|x l IH]; [cbn; now rewrite Sum_zero|].
  change (Sum (g x) m + Sum (fun x => Sum (g x) m) l = Sum (fun y => g x y + Sum (fun x => g x y) l) m).
  now rewrite IH, Sum_add.
Qed.
(** what the tokens after the cut do: any functions of them (gates, keys, values, positions) *)
Variables (A : Tok -> nat -> nat -> nat -> K) (C : Tok -> state).
Definition step (S : state) (t : Tok) : state :=
  fun h i j => Sum (fun i' => A t h i i' * S h i' j) keys + C t h i j.
(** [ol]: W_O times the difference of the two answers' columns of the readout *)
Variable ol : nat -> nat -> K.
Definition seen (S : state) (h i : nat) : K := Sum (fun j => S h i j * ol h j) values.
Definition read (c : K) (q : nat -> nat -> K) (S : state) : K :=
  c + Sum (fun h => Sum (fun i => q h i * seen S h i) keys) heads.
Lemma read_step c q t : exists c' q', forall S, read c q (step S t) = read c' q' S.
Proof.
  exists (read c q (C t)), (fun h i' => Sum (fun i => q h i * A t h i i') keys). intros S. unfold read.
  transitivity (c + (Sum (fun h => Sum (fun i => q h i * seen (C t) h i) keys) heads
    + Sum (fun h => Sum (fun i' => Sum (fun i => q h i * A t h i i') keys * seen S h i') keys) heads)); [|ring].
  rewrite <- Sum_add. f_equal. apply Sum_ext. intros h.
  transitivity (Sum (fun i => q h i * seen (C t) h i + Sum (fun i' => q h i * A t h i i' * seen S h i') keys) keys).
  - apply Sum_ext. intros i. unfold seen, step.
    transitivity (q h i * (Sum (fun j => C t h i j * ol h j) values + Sum (fun i' => A t h i i' * Sum (fun j => S h i' j * ol h j) values) keys)).
    + f_equal. transitivity (Sum (fun j => C t h i j * ol h j + Sum (fun i' => A t h i i' * (S h i' j * ol h j)) keys) values).
      * apply Sum_ext. intros j. transitivity (C t h i j * ol h j + ol h j * Sum (fun i' => A t h i i' * S h i' j) keys); [ring|].
        f_equal. rewrite <- Sum_scale. apply Sum_ext. intros i'. ring.
      * rewrite Sum_add, <- (Sum_swap (fun i' j => A t h i i' * (S h i' j * ol h j))). f_equal. apply Sum_ext. intros i'. apply Sum_scale.
    + transitivity (q h i * Sum (fun j => C t h i j * ol h j) values + q h i * Sum (fun i' => A t h i i' * Sum (fun j => S h i' j * ol h j) values) keys); [ring|].
      f_equal. rewrite <- Sum_scale. apply Sum_ext. intros i'. ring.
  - rewrite Sum_add. f_equal. rewrite Sum_swap. apply Sum_ext. intros i'.
    transitivity (Sum (fun i => seen S h i' * (q h i * A t h i i')) keys); [apply Sum_ext; intros; ring|rewrite Sum_scale; ring].
Qed.
Lemma affine_read c q (suffix : list Tok) : exists c' q', forall S, read c q (fold_left step suffix S) = read c' q' S.
Proof.
  induction suffix as [|t suffix (c' & q' & E)]; [exists c, q; reflexivity|].
  destruct (read_step c' q' t) as (c'' & q'' & E'). exists c'', q''. intros S. cbn. now rewrite E, E'.
Qed.
(** as a product of two vectors of |heads| |keys| coordinates *)
Lemma read_dot c q S : read c q S = c + dot (list_prod heads keys) (fun p => q (fst p) (snd p)) (fun p => seen S (fst p) (snd p)).
Proof.
  unfold read, dot. f_equal. induction heads as [|h hs IH]; [reflexivity|]. cbn [list_prod Sum fold_right].
  rewrite fold_right_app. cbn in IH. unfold Sum in *. rewrite IH. set (r := fold_right _ O (list_prod hs keys)). clearbody r.
  clear IH. induction keys as [|i is IHk]; cbn; [ring|]. rewrite <- IHk. ring.
Qed.
End Layer.

(** * Together: any way to fill the state, any suffixes, any transitions *)
Theorem linear_layer {Pre Tok} (heads keys values : list nat) (A : Tok -> nat -> nat -> nat -> K) (C : Tok -> state)
    (ol : nat -> nat -> K) (fill : Pre -> state) (xs : list (list Tok * (K * (nat -> nat -> K))))
    (answer : list Tok * (K * (nat -> nat -> K)) -> Pre -> bool) scale :
  let diff x p := scale x p * read heads keys values ol (fst (snd x)) (snd (snd x)) (fold_left (step keys A C) (fst x) (fill p)) in
  (forall x p, lt O (scale x p)) ->
  (forall x p, In x xs -> answer x p = true -> le O (diff x p)) ->
  (forall x p, In x xs -> answer x p = false -> le (diff x p) O) ->
  (forall x p p', In x xs -> diff x p = O -> diff x p' = O -> answer x p = answer x p') ->
  free answer xs -> length xs <= length heads * length keys.
Proof.
  intros diff Hs Ha Hb Ht F. rewrite <- prod_length.
  (* the coefficients of each suffix: one for each place of xs, so no choice is needed *)
  assert (X : forall x, exists cq, forall p, diff x p = scale x p *
      (fst cq + dot (list_prod heads keys) (snd cq) (fun k => seen values ol (fill p) (fst k) (snd k)))).
  { intros x. destruct (affine_read heads keys values A C ol (fst (snd x)) (snd (snd x)) (fst x)) as (c' & q' & E).
    exists (c', fun k => q' (fst k) (snd k)). intros p. unfold diff. now rewrite E, read_dot. }
  assert (Y : exists ys : list ((list Tok * (K * (nat -> nat -> K))) * (K * (nat * nat -> K))), map fst ys = xs /\
      forall y, In y ys -> forall p, diff (fst y) p = scale (fst y) p *
      (fst (snd y) + dot (list_prod heads keys) (snd (snd y)) (fun k => seen values ol (fill p) (fst k) (snd k)))).
  { clear - X. induction xs as [|x xs (ys & <- & H)]; [exists []; split; [reflexivity|intros y []]|].
    destruct (X x) as (cq & E). exists ((x, cq) :: ys). split; [reflexivity|]. intros y [<-|Hy]; [exact E|now apply H]. }
  destruct Y as (ys & Ey & Hy). rewrite <- Ey, map_length.
  (* suffixes as members of ys *)
  set (T := {y | In y ys}).
  assert (Z : exists zs : list T, map (fun z => proj1_sig z) zs = ys).
  { unfold T. clear. assert (G : forall l, incl l ys -> exists zs : list {y | In y ys}, map (fun z => proj1_sig z) zs = l).
    { induction l as [|y l IH]; intros Hi; [now exists []|]. destruct IH as (zs & E); [intros k Hk; apply Hi; now right|].
      exists (exist _ y (Hi y (or_introl eq_refl)) :: zs). cbn. now rewrite E. }
    apply G, incl_refl. }
  destruct Z as (zs & Ez).
  assert (Ex : map (fun z : T => fst (proj1_sig z)) zs = xs).
  { rewrite <- Ey. transitivity (map fst (map (fun z : T => proj1_sig z) zs)); [now rewrite map_map|f_equal; exact Ez]. }
  assert (Hz : forall z : T, In (fst (proj1_sig z)) xs) by (intros [y Hin]; cbn; rewrite <- Ey; now apply in_map).
  assert (Lz : length ys = length zs) by (rewrite <- Ez at 1; apply map_length). rewrite Lz.
  apply (linear_read (list_prod heads keys) (fun p k => seen values ol (fill p) (fst k) (snd k))
    (fun z : T => fst (snd (proj1_sig z))) (fun z => snd (snd (proj1_sig z)))
    (fun z p => diff (fst (proj1_sig z)) p) (fun z p => scale (fst (proj1_sig z)) p)) with (answer := fun z p => answer (fst (proj1_sig z)) p).
  - intros [y Hin] p. cbn. split; [apply Hs|]. now apply Hy.
  - intros z p. apply Ha, Hz.
  - intros z p. apply Hb, Hz.
  - intros z p p'. apply Ht, Hz.
  - intros bs L. destruct (F bs) as (p & E); [rewrite L, <- Ex, map_length; reflexivity|].
    exists p. rewrite <- E, <- Ex, map_map. reflexivity.
Qed.
End OrderedRing.

(** * Concrete verdicts: n symbols, one of them asked for by the token behind them *)
Record numbers := Numbers {
  num : Type; zero : num; one : num; plus : num -> num -> num; times : num -> num -> num; minus : num -> num -> num;
  negated : num -> num; less : num -> num -> Prop;
  num_ring : ring_theory zero one plus times minus negated (@eq num);
  less_irrefl : forall x, ~ less x x;
  less_trans : forall x y z, less x y -> less y z -> less x z;
  less_total : forall x y, less x y \/ x = y \/ less y x;
  less_plus : forall x y z, less x y -> less (plus z x) (plus z y);
  less_times : forall x y, less zero x -> less zero y -> less zero (times x y);
  less_one : less zero one }.

(** One layer: [fill], any function of the symbols, is the state before the question; the question acts on it by [act]
    and [write], and reads it with [ask]; [out] and [rest] are what the readout makes of it, answer by answer; [scale]
    is a norm's. *)
Record layer (F : numbers) := Layer {
  values : list nat;
  fill : list nat -> nat -> nat -> nat -> num F;
  act : nat -> nat -> nat -> nat -> num F;
  write : nat -> nat -> nat -> nat -> num F;
  ask : nat -> nat -> nat -> num F;
  out : nat -> nat -> nat -> num F;
  rest : nat -> nat -> num F;
  scale : nat -> list nat -> num F;
  scale_pos : forall i s, less F (zero F) (scale i s) }.

Section Verdict.
Variable F : numbers.
Local Notation "x + y" := (plus F x y).
Local Notation "x * y" := (times F x y).
Local Notation "x - y" := (minus F x y).
Add Ring Fr : (num_ring F).

(** the logit of answer [a] to question [i] after the symbols [s], by [H] heads with keys of size [k] *)
Definition logit (H k : nat) (M : layer F) (i : nat) (s : list nat) (a : nat) : num F :=
  scale F M i s * read (num F) (zero F) (plus F) (times F) (seq 0 H) (seq 0 k) (values F M) (out F M a) (rest F M i a)
    (ask F M i) (step (num F) (zero F) (plus F) (times F) (seq 0 k) (act F M) (write F M) (fill F M s) i).
(** the first of the largest *)
Definition first_largest (V : nat) (l : nat -> num F) (a : nat) : Prop :=
  forall b, b < V -> (b < a -> less F (l b) (l a)) /\ (a < b -> ~ less F (l a) (l b)).
Definition looks_up (H k : nat) (M : layer F) (n V : nat) : Prop :=
  forall s, length s = n -> (forall x, In x s -> x < V) ->
  forall i, i < n -> first_largest V (logit H k M i s) (nth i s 0).

Lemma Sum_minus {X} (g h : X -> num F) l :
  Sum _ (zero F) (plus F) (fun x => g x - h x) l = Sum _ (zero F) (plus F) g l - Sum _ (zero F) (plus F) h l.
Proof. induction l as [|x l IH]; cbn; [ring|]. unfold Sum in IH. rewrite IH. ring. Qed.
Lemma Sum_same {X} (g h : X -> num F) l : (forall x, g x = h x) ->
  Sum _ (zero F) (plus F) g l = Sum _ (zero F) (plus F) h l.
Proof. intros E. induction l as [|x l IH]; cbn; [reflexivity|]. unfold Sum in IH. now rewrite IH, E. Qed.
(** the difference of two reads is a read *)
Lemma read_minus heads keys vs o o' c c' q S :
  read (num F) (zero F) (plus F) (times F) heads keys vs o c q S
  - read (num F) (zero F) (plus F) (times F) heads keys vs o' c' q S
  = read (num F) (zero F) (plus F) (times F) heads keys vs (fun h j => o h j - o' h j) (c - c') q S.
Proof.
  unfold read.
  transitivity ((c - c') + Sum _ (zero F) (plus F) (fun h => Sum _ (zero F) (plus F) (fun i =>
      q h i * seen _ (zero F) (plus F) (times F) vs o S h i) keys
    - Sum _ (zero F) (plus F) (fun i => q h i * seen _ (zero F) (plus F) (times F) vs o' S h i) keys) heads).
  { rewrite Sum_minus. ring. }
  f_equal. apply Sum_same. intros h. rewrite <- Sum_minus. apply Sum_same. intros i. unfold seen.
  transitivity (q h i * (Sum _ (zero F) (plus F) (fun j => S h i j * o h j) vs
    - Sum _ (zero F) (plus F) (fun j => S h i j * o' h j) vs)); [ring|].
  f_equal. rewrite <- Sum_minus. apply Sum_same. intros j. ring.
Qed.
Lemma minus_pos x y : less F (zero F) (x - y) <-> less F y x.
Proof.
  split; intros L.
  - apply (less_plus F _ _ y) in L. now replace (y + zero F) with y in L by ring; replace (y + (x - y)) with x in L by ring.
  - apply (less_plus F _ _ (negated F y)) in L. replace (x - y) with (negated F y + x) by ring.
    now replace (negated F y + y) with (zero F) in L by ring.
Qed.
Lemma minus_neg x y : less F (x - y) (zero F) <-> less F x y.
Proof.
  split; intros L.
  - apply (less_plus F _ _ y) in L. now replace (y + zero F) with y in L by ring; replace (y + (x - y)) with x in L by ring.
  - apply (less_plus F _ _ (negated F y)) in L. replace (x - y) with (negated F y + x) by ring.
    now replace (negated F y + y) with (zero F) in L by ring.
Qed.

Definition symbols (bs : list bool) : list nat := map (fun b : bool => if b then 0 else 1) bs.

Lemma answers_back bs : map (fun i => nth i (symbols bs) 0 =? 0) (seq 0 (length bs)) = bs.
Proof.
  induction bs as [|b bs IH]; [reflexivity|]. cbn [length seq map]. rewrite <- seq_shift, map_map.
  f_equal; [now destruct b|exact IH].
Qed.

(** Of the words that are [allowed] those questions [ps] are free: no more than numbers are read. *)
Theorem look_up_some H k (M : layer F) n V (allowed : list bool -> Prop) (ps : list nat) : 2 <= V ->
  (forall bs, length bs = n -> allowed bs -> forall i, In i ps ->
     first_largest V (logit H k M i (symbols bs)) (nth i (symbols bs) 0)) ->
  (forall rs, length rs = length ps ->
     exists bs, length bs = n /\ allowed bs /\ map (fun i => nth i (symbols bs) 0 =? 0) ps = rs) ->
  length ps <= Nat.mul H k.
Proof.
  intros HV Hup Free.
  set (dc := fun i => rest F M i 0 - rest F M i 1).
  set (dol := fun h j => out F M 0 h j - out F M 1 h j).
  set (xs := map (fun i => ([i], (dc i, ask F M i))) ps).
  set (at_ := fun x : list nat * (num F * (nat -> nat -> num F)) => hd 0 (fst x)).
  set (word := fun p : {bs : list bool | length bs = n /\ allowed bs} => symbols (proj1_sig p)).
  set (answer := fun x (p : {bs : list bool | length bs = n /\ allowed bs}) => nth (at_ x) (word p) 0 =? 0).
  assert (E : length xs = length ps) by (unfold xs; now rewrite map_length).
  rewrite <- E. rewrite <- (seq_length H 0), <- (seq_length k 0).
  assert (Ok : forall i p, In i ps -> first_largest V (logit H k M i (word p)) (nth i (word p) 0)).
  { intros i p Hi. destruct (proj2_sig p) as [L A]. now apply Hup. }
  assert (Bit : forall i p, nth i (word p) 0 = 0 \/ nth i (word p) 0 = 1).
  { intros i p. destruct (nth_in_or_default i (word p) 0) as [Hx|Hx]; [|now left].
    unfold word, symbols in Hx |- *. apply in_map_iff in Hx as ([] & E' & _); rewrite <- E'; auto. }
  assert (D : forall i p, times F (scale F M i (word p))
      (read _ (zero F) (plus F) (times F) (seq 0 H) (seq 0 k) (values F M) dol (dc i) (ask F M i)
        (fold_left (step _ (zero F) (plus F) (times F) (seq 0 k) (act F M) (write F M)) [i] (fill F M (word p))))
      = logit H k M i (word p) 0 - logit H k M i (word p) 1).
  { intros i p. unfold logit, dc, dol. cbn [fold_left]. rewrite <- read_minus. ring. }
  assert (One : forall i p, In i ps -> nth i (word p) 0 = 1 -> less F (logit H k M i (word p) 0) (logit H k M i (word p) 1)).
  { intros i p Hi N. specialize (Ok i p Hi). rewrite N in Ok. destruct (Ok 0 ltac:(lia)) as [G _]. apply G. lia. }
  assert (Zero : forall i p, In i ps -> nth i (word p) 0 = 0 -> ~ less F (logit H k M i (word p) 0) (logit H k M i (word p) 1)).
  { intros i p Hi N. specialize (Ok i p Hi). rewrite N in Ok. destruct (Ok 1 ltac:(lia)) as [_ G]. apply G. lia. }
  assert (At : forall x, In x xs -> exists i, In i ps /\ x = ([i], (dc i, ask F M i))).
  { intros x Hx. unfold xs in Hx. apply in_map_iff in Hx as (i & <- & Hi). now exists i. }
  apply (linear_layer (num F) (zero F) (one F) (plus F) (times F) (minus F) (negated F) (less F) (num_ring F)
    (less_irrefl F) (less_trans F) (less_total F) (less_plus F) (less_times F) (less_one F)
    (seq 0 H) (seq 0 k) (values F M) (act F M) (write F M) dol (fun p => fill F M (word p)) xs answer
    (fun x p => scale F M (at_ x) (word p))).
  - intros x p. apply scale_pos.
  - intros x p Hx Ha. destruct (At x Hx) as (i & Hi & ->). unfold answer, at_ in *. cbn [fst snd hd] in *. rewrite D.
    apply Nat.eqb_eq in Ha. intros L. exact (Zero i p Hi Ha (proj1 (minus_neg _ _) L)).
  - intros x p Hx Ha. destruct (At x Hx) as (i & Hi & ->). unfold answer, at_ in *. cbn [fst snd hd] in *. rewrite D.
    apply Nat.eqb_neq in Ha. destruct (Bit i p) as [B|B]; [contradiction|]. intros L. apply (proj1 (minus_pos _ _)) in L.
    apply (less_irrefl F (logit H k M i (word p) 0)), (less_trans F _ (logit H k M i (word p) 1)); [now apply One|exact L].
  - assert (T : forall i p, In i ps -> logit H k M i (word p) 0 - logit H k M i (word p) 1 = zero F -> nth i (word p) 0 = 0).
    { intros i p Hi Z. destruct (Bit i p) as [B|B]; [exact B|]. pose proof (One i p Hi B) as L.
      apply (proj2 (minus_neg _ _)) in L. rewrite Z in L. now apply less_irrefl in L. }
    intros x p p' Hx Z Z'. destruct (At x Hx) as (i & Hi & ->). unfold answer, at_ in *. cbn [fst snd hd] in *.
    rewrite D in Z, Z'. now rewrite (T i p Hi Z), (T i p' Hi Z').
  - intros rs Hrs. rewrite E in Hrs. destruct (Free rs Hrs) as (bs & L & A & <-). exists (exist _ bs (conj L A)).
    unfold answer, xs, word, at_. cbn [proj1_sig]. now rewrite map_map.
Qed.

Theorem look_up_bound H k (M : layer F) n V : 2 <= V -> looks_up H k M n V -> n <= Nat.mul H k.
Proof.
  intros HV Hup. rewrite <- (seq_length n 0) at 1.
  apply (look_up_some H k M n V (fun _ => True)); [exact HV| |].
  - intros bs L _ i Hi. apply in_seq in Hi. apply Hup; [unfold symbols; now rewrite map_length| |lia].
    intros x Hx. unfold symbols in Hx. apply in_map_iff in Hx as ([] & <- & _); lia.
  - intros bs Hbs. rewrite seq_length in Hbs. exists bs. repeat split; [exact Hbs|]. subst n. apply answers_back.
Qed.

(** What the question does and the readout adds may depend on the last [r] symbols: windows, short convolutions. *)
Definition looks_up_near (H k r : nat) (M : list nat -> layer F) (n V : nat) : Prop :=
  forall s, length s = n -> (forall x, In x s -> x < V) ->
  forall i, i < n -> first_largest V (logit H k (M (skipn (n - r) s)) i s) (nth i s 0).

(** With the last [r] symbols fixed, those before them are free. *)
Theorem look_up_near_bound H k r (M : list nat -> layer F) n V : 2 <= V -> looks_up_near H k r M n V ->
  n <= Nat.add (Nat.mul H k) r.
Proof.
  intros HV Hup. destruct (le_lt_dec n r) as [L|L]; [lia|]. cut (n - r <= Nat.mul H k); [lia|].
  rewrite <- (seq_length (n - r) 0).
  apply (look_up_some H k (M (symbols (repeat true r))) n V (fun bs => skipn (n - r) bs = repeat true r)); [exact HV| |].
  - intros bs Lb A i Hi. apply in_seq in Hi. rewrite <- A. unfold symbols. rewrite <- skipn_map. apply Hup; [|intros x Hx|lia].
    + now rewrite map_length.
    + apply in_map_iff in Hx as ([] & <- & _); lia.
  - intros rs Hrs. rewrite seq_length in Hrs. exists (rs ++ repeat true r). repeat split.
    + rewrite app_length, repeat_length. lia.
    + now rewrite <- Hrs, skipn_app, skipn_all, Nat.sub_diag.
    + transitivity (map (fun i => nth i (symbols rs) 0 =? 0) (seq 0 (length rs))); [|apply answers_back].
      rewrite Hrs. apply map_ext_in. intros i Hi. apply in_seq in Hi.
      unfold symbols. rewrite map_app, app_nth1; [reflexivity|rewrite map_length; lia].
Qed.
End Verdict.

(** [H] heads with keys of size [k], any values, gates, precision and way to fill the state; an affine readout *)
Theorem cannot_look_up (H k n V : N) : ((H * k <? n) && (2 <=? V))%N = true ->
  forall (F : numbers) (M : layer F), ~ looks_up F (N.to_nat H) (N.to_nat k) M (N.to_nat n) (N.to_nat V).
Proof.
  intros C F M L. apply andb_true_iff in C as [A B]. apply N.ltb_lt in A. apply N.leb_le in B.
  apply look_up_bound in L; [|lia]. lia.
Qed.

(** The same where what comes later sees the last [r] symbols, too *)
Theorem cannot_look_up_near (H k r n V : N) : ((H * k + r <? n) && (2 <=? V))%N = true ->
  forall (F : numbers) (M : list nat -> layer F),
  ~ looks_up_near F (N.to_nat H) (N.to_nat k) (N.to_nat r) M (N.to_nat n) (N.to_nat V).
Proof.
  intros C F M L. apply andb_true_iff in C as [A B]. apply N.ltb_lt in A. apply N.leb_le in B.
  apply look_up_near_bound in L; [|lia]. lia.
Qed.

(** The integers are such numbers, so nothing is said of nothing. *)
Definition integers : numbers.
Proof.
  refine (Numbers Z 0%Z 1%Z Z.add Z.mul Z.sub Z.opp Z.lt InitialRing.Zth _ _ _ _ _ _); intros; lia.
Defined.
