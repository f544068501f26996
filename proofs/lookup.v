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
  intros D. revert es. induction D as [|m d ms ds Hd D IH]; intros es E; inversion E as [|? e ? es' He E']; subst;
    [reflexivity|].
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
  assert (A : forall i, (i <= length ms)%nat -> nth i (shifted (digits (ms ++ [m']) (y / q0)) bs) 0 = asked i).
  { intros i I. rewrite nth_shifted by (rewrite digits_length, Len; lia).
    rewrite digits_field by (try assumption; rewrite Len; lia). rewrite First by exact I. reflexivity. }
  assert (B : forall i, (i <= length ms)%nat -> nth i (digits (ms ++ [m]) (x / k0)) 0 =
      field (k0 * product (firstn i ms)) (nth i (ms ++ [m]) 1) x).
  { intros i I. rewrite digits_field by (try assumption; rewrite Len; lia). rewrite First by exact I. reflexivity. }
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
Print Assumptions fields_agree.
End Digits.
