(** Looking up one token: the keys whose digits all agree with what is asked for are the
    keys that satisfy the facts, and any other key scores less.

    Fields are integers (x / div) mod mod of numbers that a token knows.  For a fixed query
    each coupled field of the key has one best row; a token that misses one of them loses
    [cost], and may win back no more than the range of the fields that are not asked for.
    That all coupled fields agree is then put together: digits of one number say that key
    number = query number + shift; residues without common factor say it within a range. *)
From Coq Require Import List ZArith Znumtheory QArith Qabs Lqa Lia Permutation.
Import ListNotations.
From Limen Require Import softmax_lemma.
Local Open Scope Z_scope.

(** * Digits in mixed radix *)
Section Digits.
(** what a field holds of a number *)
Definition field (div mod_ x : Z) : Z := x / div mod mod_.
Fixpoint product (ms : list Z) : Z := match ms with [] => 1 | m :: ms => m * product ms end.
Fixpoint digits (ms : list Z) (x : Z) : list Z :=
  match ms with
  | [] => []
  | m :: ms => x mod m :: digits ms (x / m)
  end.
Fixpoint number (ms ds : list Z) : Z :=
  match ms, ds with
  | m :: ms, d :: ds => d + m * number ms ds
  | _, _ => 0
  end.
Definition within : list Z -> list Z -> Prop := Forall2 (fun m d => 0 <= d < m).
Definition positive : list Z -> Prop := Forall (fun m => 0 < m).

Lemma product_positive ms : positive ms -> 0 < product ms.
Proof. induction 1; simpl; nia. Qed.
Lemma positive_app ms ns : positive (ms ++ ns) <-> positive ms /\ positive ns.
Proof. apply Forall_app. Qed.
Lemma product_app ms ns : product (ms ++ ns) = product ms * product ns.
Proof. induction ms as [|m ms IH]; cbn [app product]; [|rewrite IH]; ring. Qed.
Lemma digits_length ms x : length (digits ms x) = length ms.
Proof. revert x. induction ms as [|m ms IH]; intros x; simpl; [reflexivity|]. rewrite IH. reflexivity. Qed.

(** The i-th digit is a field: of weight m_0 ... m_(i-1), modulo m_i. *)
Lemma digits_field ms i x d0 : positive ms -> 0 < d0 -> (i < length ms)%nat ->
  nth i (digits ms (x / d0)) 0 = field (d0 * product (firstn i ms)) (nth i ms 1) x.
Proof.
  unfold field. revert ms x d0. induction i as [|i IH]; intros [|m ms] x d0 P D L; simpl in *; try lia.
  - rewrite Z.mul_1_r. reflexivity.
  - inversion P as [|? ? Pm Pms]; subst. rewrite Z.div_div by lia. rewrite IH by (try assumption; nia || lia).
    f_equal. f_equal. lia.
Qed.

Lemma number_digits ms x : positive ms -> number ms (digits ms x) = x mod product ms.
Proof.
  intros P. revert x. induction P as [|m ms Pm Pms IH]; intros x; simpl; [symmetry; apply Z.mod_1_r|].
  rewrite IH. pose proof (product_positive ms Pms). symmetry. apply Z.rem_mul_r; lia.
Qed.
Lemma digits_within ms x : positive ms -> within ms (digits ms x).
Proof.
  intros P. revert x. induction P as [|m ms Pm Pms IH]; intros x; simpl; constructor; [|apply IH].
  apply Z.mod_pos_bound, Pm.
Qed.
Lemma number_within ms ds : within ms ds -> 0 <= number ms ds < product ms.
Proof. induction 1; simpl; nia. Qed.
(** Digits in range are told by the number. *)
Lemma number_inj ms ds es : within ms ds -> within ms es -> number ms ds = number ms es -> ds = es.
Proof.
  intros D. revert es. induction D as [|m d ms ds Hd D IH]; intros es E;
    inversion E as [|? e ? es' He E']; subst; [reflexivity|].
  simpl. intros Eq. assert (N : number ms ds = number ms es') by nia.
  f_equal; [nia|apply IH; assumption].
Qed.
Lemma digits_number ms ds : positive ms -> within ms ds -> digits ms (number ms ds) = ds.
Proof.
  intros P W. apply (number_inj ms); [apply digits_within, P|exact W|].
  rewrite number_digits by exact P. apply Z.mod_small, number_within, W.
Qed.

(** Digit by digit shifted. *)
Fixpoint shifted (ds bs : list Z) : list Z :=
  match ds, bs with
  | d :: ds, b :: bs => d + b :: shifted ds bs
  | _, _ => []
  end.
Lemma number_shifted ms ds bs : length ds = length ms -> length bs = length ms ->
  number ms (shifted ds bs) = number ms ds + number ms bs.
Proof.
  revert ds bs. induction ms as [|m ms IH]; intros [|d ds] [|b bs]; simpl; try lia.
  intros L M. rewrite IH by lia. lia.
Qed.
Lemma shifted_length ds bs : length ds = length bs -> length (shifted ds bs) = length ds.
Proof. revert bs. induction ds as [|d ds IH]; intros [|b bs]; simpl; auto; lia. Qed.
Lemma nth_shifted ds bs i : length ds = length bs -> (i < length ds)%nat ->
  nth i (shifted ds bs) 0 = nth i ds 0 + nth i bs 0.
Proof.
  revert bs i. induction ds as [|d ds IH]; intros [|b bs] [|i]; simpl; try lia.
  intros L I. apply IH; lia.
Qed.
(** The weight of the last digit does not depend on how far it counts. *)
Lemma number_last ms m m' ds : length ds = S (length ms) -> number (ms ++ [m]) ds = number (ms ++ [m']) ds.
Proof.
  revert ds. induction ms as [|a ms IH]; intros [|d ds]; cbn [app number length]; try lia.
  intros L. rewrite (IH ds) by lia. reflexivity.
Qed.

(** All digits agree, each up to a shift of its own, exactly if the numbers do, up to the
    shift that these make together.  The last digit may count further on one side.  What is
    asked for must be a digit: a table's best row is one of its rows. *)
Theorem digits_agree ms m m' bs x y :
  positive (ms ++ [m]) -> positive (ms ++ [m']) -> length bs = S (length ms) ->
  within (ms ++ [m]) (shifted (digits (ms ++ [m']) y) bs) ->
  digits (ms ++ [m]) x = shifted (digits (ms ++ [m']) y) bs <->
  x mod product (ms ++ [m]) = y mod product (ms ++ [m']) + number (ms ++ [m]) bs.
Proof.
  intros P P' L W.
  assert (N : number (ms ++ [m]) (shifted (digits (ms ++ [m']) y) bs) =
              y mod product (ms ++ [m']) + number (ms ++ [m]) bs).
  { rewrite number_shifted; rewrite ?digits_length, ?app_length; simpl; try lia.
    rewrite (number_last ms m m') by (rewrite digits_length, app_length; simpl; lia).
    rewrite number_digits by exact P'. reflexivity. }
  rewrite <- N, <- (number_digits _ x P). split; [intros ->; reflexivity|].
  apply number_inj; [apply digits_within, P|exact W].
Qed.

(** The same said of fields: key digits (x / (k0 w_i)) mod m_i, query digits
    (y / (q0 w_i)) mod m'_i, w_i = m_0 ... m_(i-1). *)
Theorem fields_agree ms m m' bs k0 q0 x y :
  positive (ms ++ [m]) -> positive (ms ++ [m']) -> 0 < k0 -> 0 < q0 -> length bs = S (length ms) ->
  let asked i := field (q0 * product (firstn i ms)) (nth i (ms ++ [m']) 1) y + nth i bs 0 in
  (forall i, (i <= length ms)%nat -> 0 <= asked i < nth i (ms ++ [m]) 1) ->
  (forall i, (i <= length ms)%nat -> field (k0 * product (firstn i ms)) (nth i (ms ++ [m]) 1) x = asked i) <->
  x / k0 mod product (ms ++ [m]) = y / q0 mod product (ms ++ [m']) + number (ms ++ [m]) bs.
Proof.
  intros P P' K Q L asked W.
  assert (First : forall e i, (i <= length ms)%nat -> firstn i (ms ++ [e]) = firstn i ms).
  { intros e i I. rewrite firstn_app. replace (i - length ms)%nat with 0%nat by lia. apply app_nil_r. }
  assert (Len : forall e, length (ms ++ [e]) = S (length ms)) by (intros; rewrite app_length; simpl; lia).
  assert (A : forall i, (i <= length ms)%nat ->
      nth i (shifted (digits (ms ++ [m']) (y / q0)) bs) 0 = asked i).
  { intros i I. rewrite nth_shifted by (rewrite digits_length, Len; lia).
    rewrite digits_field by (try assumption; rewrite Len; lia). rewrite First by exact I. reflexivity. }
  assert (B : forall i, (i <= length ms)%nat -> nth i (digits (ms ++ [m]) (x / k0)) 0 =
      field (k0 * product (firstn i ms)) (nth i (ms ++ [m]) 1) x).
  { intros i I. rewrite digits_field by (try assumption; rewrite Len; lia).
    rewrite First by exact I. reflexivity. }
  assert (Ls : length (shifted (digits (ms ++ [m']) (y / q0)) bs) = S (length ms))
    by (rewrite shifted_length; rewrite digits_length, Len; lia).
  rewrite <- digits_agree; [| | |exact L|]; try assumption.
  - split.
    + intros H. apply (nth_ext _ _ 0 0); [rewrite digits_length, Len, Ls; reflexivity|].
      rewrite digits_length, Len. intros i I. rewrite A, B by lia. apply H. lia.
    + intros H i I. rewrite <- A, <- B, H by exact I. reflexivity.
  - clear - A W Ls Len. revert A W Ls Len.
    generalize (shifted (digits (ms ++ [m']) (y / q0)) bs) as ds. intros ds A W Ls Len.
    assert (G : forall ns es, length es = length ns ->
        (forall i, (i < length ns)%nat -> 0 <= nth i es 0 < nth i ns 1) -> within ns es).
    { induction ns as [|a ns IH]; intros [|e es]; simpl; try lia; intros E H; constructor.
      - apply (H 0%nat). lia.
      - apply IH; [lia|]. intros i I. apply (H (S i)). lia. }
    apply G; [rewrite Len; exact Ls|]. rewrite Len. intros i I. rewrite A by lia. apply W. lia.
Qed.

(** A place that is asked for by its digits, the last one not reduced: there is one, and
    one alone, if the digits stay below their radices and the last below [high]. *)
Theorem one_place ms high count ds last : positive ms -> within ms ds -> 0 <= last < high ->
  product ms * high <= count ->
  let p := number ms ds + product ms * last in
  (0 <= p < count /\ digits ms p = ds /\ p / product ms = last) /\
  forall p', digits ms p' = ds -> p' / product ms = last -> p' = p.
Proof.
  intros P W H C p. pose proof (product_positive ms P) as Q. pose proof (number_within ms ds W) as N.
  assert (M : p mod product ms = number ms ds)
    by (unfold p; rewrite Z.mul_comm, Z.mod_add by lia; apply Z.mod_small, N).
  assert (D : p / product ms = last)
    by (unfold p; rewrite Z.mul_comm, Z.div_add by lia; rewrite Z.div_small by exact N; lia).
  split; [split; [unfold p; nia|split; [|exact D]]|].
  - apply (number_inj ms); [apply digits_within, P|exact W|]. rewrite number_digits by exact P. exact M.
  - intros p' E E'. pose proof (number_digits ms p' P) as N'. rewrite E in N'.
    rewrite (Z.div_mod p' (product ms)) by lia. unfold p. lia.
Qed.
End Digits.

(** * Residues without common factor *)
Section Residues.
Fixpoint coprime (ms : list Z) : Prop :=
  match ms with
  | [] => True
  | m :: ms => Forall (fun m' => Z.gcd m m' = 1) ms /\ coprime ms
  end.

Lemma coprime_product m ms : Forall (fun m' => Z.gcd m m' = 1) ms -> Z.gcd m (product ms) = 1.
Proof.
  induction 1 as [|a ms G _ IH]; simpl; [apply Z.gcd_1_r|].
  apply Zgcd_1_rel_prime, rel_prime_mult; apply Zgcd_1_rel_prime; assumption.
Qed.
Lemma coprime_divides ms z : coprime ms -> Forall (fun m => (m | z)) ms -> (product ms | z).
Proof.
  induction ms as [|m ms IH]; simpl; intros C D; [apply Z.divide_1_l|].
  destruct C as [G C]. inversion D as [|? ? Dm Ds]; subst.
  destruct (IH C Ds) as [c E]. subst z.
  rewrite Z.mul_comm in Dm. apply Z.gauss in Dm; [|apply coprime_product, G].
  destruct Dm as [e ->]. exists e. lia.
Qed.

(** Two numbers closer than the product of the moduli are equal if all residues are. *)
Theorem residues_agree ms a b : positive ms -> coprime ms -> Z.abs (a - b) < product ms ->
  (forall m, In m ms -> a mod m = b mod m) <-> a = b.
Proof.
  intros P C R. split; [|intros ->; reflexivity]. intros H.
  assert (D : (product ms | a - b)).
  { apply coprime_divides; [exact C|]. apply Forall_forall. intros m I.
    unfold positive in P. rewrite Forall_forall in P. specialize (P m I).
    apply Z.mod_divide; [lia|]. rewrite Zminus_mod, (H m I), Z.sub_diag. apply Z.mod_0_l. lia. }
  destruct D as [c E]. pose proof (product_positive ms P). assert (c = 0) by nia. lia.
Qed.

(** One residue: the key's is the one that makes up the sum, exactly if the sum has residue r. *)
Lemma residue_of_sum m a x y r : 0 < m -> 0 <= a < m -> (y mod m + a) mod m = r ->
  x mod m = a <-> (x + y) mod m = r.
Proof.
  intros Hm Ha <-. rewrite (Zplus_mod x y), (Z.add_comm (x mod m)). split; [intros ->; reflexivity|].
  intros E. pose proof (Z.mod_pos_bound x m Hm) as Bx. pose proof (Z.mod_pos_bound y m Hm).
  pose proof (Z.div_mod (y mod m + x mod m) m) as Ep. pose proof (Z.div_mod (y mod m + a) m) as Eq.
  set (p := (y mod m + x mod m) / m) in *. set (q := (y mod m + a) / m) in *.
  assert (x mod m - a = m * (p - q)) by lia. assert (p - q = 0) by nia. nia.
Qed.
(** Several, without common factor: x + y = s, if all sums stay below the product. *)
Theorem sum_by_residues ms best x y s : positive ms -> coprime ms ->
  0 <= x -> 0 <= y -> x + y < product ms -> 0 <= s < product ms ->
  (forall m, In m ms -> 0 <= best m < m /\ (y mod m + best m) mod m = s mod m) ->
  (forall m, In m ms -> x mod m = best m) <-> x + y = s.
Proof.
  intros P C Hx Hy L S B. rewrite <- (residues_agree ms (x + y) s) by (assumption || lia).
  unfold positive in P. rewrite Forall_forall in P.
  split; intros H m I; destruct (B m I) as [Bm E];
    apply (residue_of_sum m (best m) x y (s mod m) (P m I) Bm E), H, I.
Qed.
End Residues.

(** * Scores *)
Local Open Scope Q_scope.
Section Scores.
Context {T F : Type}.
(** For one query: a token's fields, the fields that are asked for and the others, what
    each row of a field adds to the score. *)
Variables (key : T -> F -> Z) (coupled free : list F) (row : F -> Z -> Q) (base : Q).
Variables (asked : F -> Z) (cost : Q) (low high : F -> Q) (class : T -> Prop).
Definition score (t : T) : Q :=
  base + total (fun f => row f (key t f)) coupled + total (fun f => row f (key t f)) free.
Definition agrees (t : T) : Prop := forall f, In f coupled -> key t f = asked f.
Hypothesis cost_nonneg : 0 <= cost.
Hypothesis best : forall t f, class t -> In f coupled ->
  key t f = asked f \/ row f (key t f) <= row f (asked f) - cost.
Hypothesis range : forall t f, class t -> In f free -> low f <= row f (key t f) <= high f.

Lemma missed t l : class t -> incl l coupled -> (exists f, In f l /\ key t f <> asked f) ->
  total (fun f => row f (key t f)) l <= total (fun f => row f (asked f)) l - cost.
Proof.
  intros Ht. induction l as [|f l IH]; intros I [g [Ig N]]; [destruct Ig|]. simpl.
  assert (Le : forall l, incl l coupled ->
      total (fun f => row f (key t f)) l <= total (fun f => row f (asked f)) l).
  { intros l' I'. apply total_le. intros f' If. destruct (best t f' Ht (I' f' If)) as [->|L]; lra. }
  pose proof (Le l (fun x H => I x (or_intror H))) as Rest.
  destruct (best t f Ht (I f (or_introl eq_refl))) as [E|L]; [|lra].
  destruct Ig as [->|Ig]; [contradiction|].
  specialize (IH (fun x H => I x (or_intror H)) (ex_intro _ g (conj Ig N))). rewrite E. lra.
Qed.

Lemma agreed t l : agrees t -> incl l coupled ->
  total (fun f => row f (key t f)) l == total (fun f => row f (asked f)) l.
Proof.
  intros A. induction l as [|f l IH]; intros I; simpl; [reflexivity|].
  rewrite (A f) by (apply I; left; reflexivity). rewrite IH; [reflexivity|].
  intros x H. apply I. right. exact H.
Qed.
(** The matched score, up to the fields that are not asked for. *)
Lemma matched t : class t -> agrees t ->
  base + total (fun f => row f (asked f)) coupled + total low free <= score t.
Proof.
  intros Ht A. unfold score. rewrite (agreed t coupled A (incl_refl _)).
  assert (total low free <= total (fun f => row f (key t f)) free)
    by (apply total_le; intros f I; apply range; assumption).
  lra.
Qed.
Lemma agrees_or_misses t : agrees t \/ exists f, In f coupled /\ key t f <> asked f.
Proof.
  unfold agrees. clear best. induction coupled as [|f l [A|[g [I N]]]].
  - left. intros f [].
  - destruct (Z.eq_dec (key t f) (asked f)) as [E|E].
    + left. intros g [<-|I]; [exact E|apply A, I].
    + right. exists f. split; [left; reflexivity|exact E].
  - right. exists g. split; [right; exact I|exact N].
Qed.

Theorem a_miss_costs t t' : class t -> class t' -> agrees t -> ~ agrees t' ->
  score t' <= score t - (cost - (total high free - total low free)).
Proof.
  intros Ht Ht' A N. pose proof (matched t Ht A) as M. unfold score at 1.
  destruct (agrees_or_misses t') as [A'|X]; [contradiction|].
  pose proof (missed t' coupled Ht' (incl_refl _) X).
  assert (total (fun f => row f (key t' f)) free <= total high free)
    by (apply total_le; intros f I; apply range; assumption).
  lra.
Qed.

(** Scores are computed with an error; the facts single out one token of the class. *)
Theorem lookup (facts : T -> Prop) (computed : T -> Q) (err : Q) t :
  (forall t, class t -> facts t <-> agrees t) ->
  (forall t, class t -> Qabs (computed t - score t) <= err) ->
  class t -> facts t -> (forall t', class t' -> facts t' -> t' = t) ->
  forall t', class t' -> t' <> t ->
  computed t' <= computed t - (cost - (total high free - total low free) - 2 * err).
Proof.
  intros HF HE Ht Hf One t' Ht' N.
  pose proof (a_miss_costs t t' Ht Ht' (proj1 (HF t Ht) Hf)) as M.
  assert (N' : ~ agrees t') by (intros A; apply N, One; [exact Ht'|apply HF; assumption]).
  specialize (M N'). pose proof (HE t Ht) as E. pose proof (HE t' Ht') as E'.
  apply Qabs_Qle_condition in E, E'. lra.
Qed.

(** The matched score by fields of the query: [by_query f] is the field that asks for f. *)
Theorem matched_by_query (by_query : F -> nat) (asking : list nat) (own gain : nat -> Q) rest :
  NoDup asking -> (forall f, In f coupled -> In (by_query f) asking) ->
  (forall z, gain z == own z +
     total (fun f => row f (asked f)) (filter (fun f => Nat.eqb (by_query f) z) coupled)) ->
  base == rest + total own asking ->
  base + total (fun f => row f (asked f)) coupled == rest + total gain asking.
Proof.
  intros ND Cov G B. rewrite B.
  assert (Split : total gain asking == total own asking + total (fun z =>
      total (fun f => row f (asked f)) (filter (fun f => Nat.eqb (by_query f) z) coupled)) asking).
  { clear - G. induction asking as [|z l IH]; simpl; [reflexivity|]. rewrite IH, (G z). ring. }
  rewrite Split, <- Qplus_assoc. apply Qplus_comp; [reflexivity|]. apply Qplus_comp; [reflexivity|].
  clear - ND Cov. induction coupled as [|f l IH]; simpl.
  - clear. induction asking as [|z l IH]; simpl; [reflexivity|]. rewrite <- IH. reflexivity.
  - rewrite IH by (intros; apply Cov; right; assumption).
    assert (I : In (by_query f) asking) by (apply Cov; left; reflexivity). clear - ND I.
    induction ND as [|z m Nz ND IH]; [destruct I|]. simpl.
    destruct (Nat.eqb_spec (by_query f) z) as [E|E]; simpl.
    + assert (Same : total (fun z => total (fun f => row f (asked f))
          (if Nat.eqb (by_query f) z then f :: filter (fun f => Nat.eqb (by_query f) z) l
           else filter (fun f => Nat.eqb (by_query f) z) l)) m ==
        total (fun z => total (fun f => row f (asked f)) (filter (fun f => Nat.eqb (by_query f) z) l)) m).
      { clear IH ND I. subst z. induction m as [|z m IHm]; simpl; [reflexivity|].
        rewrite IHm by (intros X; apply Nz; right; exact X).
        destruct (Nat.eqb_spec (by_query f) z) as [E|E]; [exfalso; apply Nz; left; symmetry; exact E|].
        reflexivity. }
      rewrite Same. ring.
    + destruct I as [I|I]; [symmetry in I; contradiction|]. specialize (IH I). simpl in IH. lra.
Qed.
End Scores.

(** Tokens of another class, whatever their fields: how far they are behind a reference of
    [rest + gain of each field of the query], the worst row of each field taken by itself. *)
Theorem others_behind {F : Type} (asking : list nat) (free : list F) (rest rest' : Q)
    (gain own most worst : nat -> Q) (adds top : F -> Q) (inner : nat -> Q) :
  (forall z, In z asking -> inner z <= most z) ->
  (forall z, In z asking -> own z - gain z + most z <= worst z) ->
  (forall f, In f free -> adds f <= top f) ->
  rest' + total own asking + total inner asking + total adds free <=
    rest + total gain asking - (rest - rest' - total top free - total worst asking).
Proof.
  intros I W A. pose proof (total_le adds top free A) as HA.
  assert (H : total own asking + total inner asking <= total gain asking + total worst asking).
  { clear A HA. induction asking as [|z l IH]; simpl; [lra|].
    pose proof (I z (or_introl eq_refl)). pose proof (W z (or_introl eq_refl)).
    assert (J : total own l + total inner l <= total gain l + total worst l)
      by (apply IH; intros; [apply I|apply W]; right; assumption).
    lra. }
  lra.
Qed.

(** * Not empty *)

(** Four tokens, told by the two binary digits of their place; a digit that agrees scores 1,
    one that does not -1: every other place scores 2 less. *)
Section Four.
Variable y : Z.
Hypothesis y_place : (0 <= y < 4)%Z.
Let key (t : Z) (f : nat) : Z := field (2 ^ Z.of_nat f) 2 t.
Let row (f : nat) (b : Z) : Q := if Z.eqb b (key y f) then 1 else -(1).

Lemma four_facts t : (0 <= t < 4)%Z -> t = y <-> agrees key [0; 1]%nat (key y) t.
Proof.
  intros Ht.
  assert (H := fields_agree [2]%Z 2 2 [0; 0]%Z 1 1 t y). cbv zeta in H. rewrite !Z.div_1_r in H.
  cbn [app product number] in H. rewrite !Z.mod_small in H by lia.
  assert (P : positive [2; 2]%Z) by (repeat constructor).
  assert (K : forall x i, (i <= 1)%nat ->
      field (1 * product (firstn i [2]%Z)) (nth i [2; 2]%Z 1%Z) x = key x i /\ nth i [0; 0]%Z 0%Z = 0%Z).
  { intros x [|[|i]] L; [split; reflexivity|split; reflexivity|lia]. }
  specialize (H P P ltac:(lia) ltac:(lia) eq_refl). cbn [length] in H.
  assert (W : forall i, (i <= 1)%nat ->
      (0 <= field (1 * product (firstn i [2])) (nth i [2; 2] 1) y + nth i [0; 0] 0 < nth i [2; 2] 1)%Z).
  { intros i L. destruct (K y i L) as [-> ->]. unfold key, field. rewrite Z.add_0_r.
    replace (nth i [2; 2] 1)%Z with 2%Z by (destruct i as [|[|i]]; [reflexivity|reflexivity|lia]).
    apply Z.mod_pos_bound. lia. }
  specialize (H W). split.
  - intros -> f _. reflexivity.
  - intros A. replace y with (y + (0 + 2 * (0 + 2 * 0)))%Z by lia. apply H. intros i L.
    destruct (K t i L) as [-> _], (K y i L) as [-> ->]. rewrite Z.add_0_r. apply A.
    destruct i as [|[|i]]; [left; reflexivity|right; left; reflexivity|lia].
Qed.
Example four t' : (0 <= t' < 4)%Z -> t' <> y ->
  score key [0; 1]%nat [] row 0 t' <= score key [0; 1]%nat [] row 0 y - (2 - (0 - 0) - 2 * 0).
Proof.
  apply (lookup key [0; 1]%nat [] row 0 (key y) 2 (fun _ => 0) (fun _ => 0) (fun t => 0 <= t < 4)%Z)
    with (facts := fun t => t = y).
  - lra.
  - intros t f _ _. unfold row. rewrite Z.eqb_refl.
    destruct (Z.eqb_spec (key t f) (key y f)); [left; assumption|right; lra].
  - intros t f _ [].
  - apply four_facts.
  - intros t _. rewrite Qabs_pos; lra.
  - exact y_place.
  - reflexivity.
  - intros t _ E. exact E.
Qed.
End Four.

(** Two numbers below 50 sum to 73: told by their residues modulo 3, 5 and 7. *)
Example sum_73 x y : (0 <= x < 50 -> 0 <= y < 50 ->
  (forall m, In m [3; 5; 7] -> x mod m = (73 - y) mod m) <-> x + y = 73)%Z.
Proof.
  intros Hx Hy. apply sum_by_residues; simpl product; try lia.
  - repeat constructor.
  - simpl. repeat split; repeat constructor.
  - intros m I. assert (0 < m)%Z by (simpl in I; lia). split; [apply Z.mod_pos_bound; assumption|].
    rewrite <- Zplus_mod. f_equal. lia.
Qed.
