(** Words as keys (random signs, code words): a query that asks for a word by c times
    the word itself finds it, and no two rows of the table need be compared.

    q = c.k + r, all words differ, |k|^2 = R and <r,k> = rho for each of them.  Then any
    other word k' scores c/2.|k - k'|^2 less than k, which is at least c.max(g^2, d^2/2):
    g a number of which all entries are multiples, d the least distance of two different
    entries of one column.  Numbers are rational; nothing is rounded here. *)
From Coq Require Import QArith Qabs Qminmax Lqa Lia ZArith.
Local Open Scope Q_scope.

Section Vectors.
Fixpoint dot (n : nat) (x y : nat -> Q) : Q :=
  match n with
  | O => 0
  | S n => dot n x y + x n * y n
  end.
Definition apart (n : nat) (x y : nat -> Q) : Q := dot n (fun i => x i - y i) (fun i => x i - y i).

Lemma dot_asks n c k r q x : (forall i, (i < n)%nat -> q i == c * k i + r i) ->
  dot n q x == c * dot n k x + dot n r x.
Proof.
  induction n as [|n IH]; intros H; simpl; [ring|].
  rewrite IH by (intros; apply H; lia). rewrite (H n) by lia. ring.
Qed.
Lemma apart_square n x y : apart n x y == dot n x x + dot n y y - 2 * dot n x y.
Proof. unfold apart. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

(** Squares add up: one column that differs by d puts words d^2 apart. *)
Lemma square_nonneg x : 0 <= x * x. Proof. nra. Qed.
Lemma apart_nonneg n x y : 0 <= apart n x y.
Proof.
  unfold apart. induction n as [|n IH]; simpl; [lra|].
  pose proof (square_nonneg (x n - y n)). lra.
Qed.
Lemma apart_column n x y d i : (i < n)%nat -> 0 <= d -> d <= Qabs (x i - y i) -> d * d <= apart n x y.
Proof.
  intros Hi Hd H. assert (L : d * d <= (x i - y i) * (x i - y i)).
  { revert H. apply Qabs_case; intros; nra. }
  induction n as [|n IH]; [lia|]. unfold apart in *. simpl.
  pose proof (apart_nonneg n x y) as P. unfold apart in P.
  pose proof (square_nonneg (x n - y n)) as S.
  destruct (Nat.eq_dec i n) as [->|N]; [lra|]. specialize (IH ltac:(lia)). lra.
Qed.

(** Entries that are whole multiples of g have products that are whole multiples of g^2. *)
Definition multiple (g x : Q) : Prop := exists z : Z, x == inject_Z z * g.
Lemma dot_multiple n g x y : (forall i, (i < n)%nat -> multiple g (x i)) ->
  (forall i, (i < n)%nat -> multiple g (y i)) -> multiple (g * g) (dot n x y).
Proof.
  induction n as [|n IH]; intros Hx Hy; simpl; [exists 0%Z; simpl; ring|].
  destruct IH as [z Hz]; [intros; apply Hx; lia|intros; apply Hy; lia|].
  destruct (Hx n) as [a Ha]; [lia|]. destruct (Hy n) as [b Hb]; [lia|].
  exists (z + a * b)%Z. rewrite Hz, Ha, Hb, inject_Z_plus, inject_Z_mult. ring.
Qed.
(** A positive multiple is at least one of them. *)
Lemma multiple_positive g x : 0 <= g -> multiple g x -> 0 < x -> g <= x.
Proof.
  intros Hg [z Hz] Hx. rewrite Hz in *.
  assert (Z1 : (1 <= z)%Z).
  { destruct (Z_lt_le_dec z 1) as [L|L]; [exfalso|lia].
    assert (E : inject_Z z <= inject_Z 0) by (rewrite <- Zle_Qle; lia).
    change (inject_Z 0) with 0 in E. nra. }
  rewrite Zle_Qle in Z1. change (inject_Z 1) with 1 in Z1. nra.
Qed.
End Vectors.

Section Words.
Context {Row : Type}.
Variables (n : nat) (word : Row -> nat -> Q).
Variables (c R rho g d : Q) (q r : nat -> Q) (asked : Row).
Hypothesis c_nonneg : 0 <= c.
(** the query asks for one word, by c times the word and a rest that no word feels *)
Hypothesis asks : forall i, (i < n)%nat -> q i == c * word asked i + r i.
Hypothesis length_of_words : forall b, dot n (word b) (word b) == R.
Hypothesis rest : forall b, dot n r (word b) == rho.

Theorem miss_exactly b : dot n q (word asked) - dot n q (word b) == c / 2 * apart n (word asked) (word b).
Proof.
  rewrite !(dot_asks n c (word asked) r q) by exact asks. rewrite !rest, apart_square, !length_of_words.
  field.
Qed.

(** The score of the word that is asked for: the same for all words. *)
Theorem matched_exactly : dot n q (word asked) == c * R + rho.
Proof. rewrite (dot_asks n c (word asked) r q) by exact asks. rewrite rest, length_of_words. ring. Qed.

(** g: |k - k'|^2 = 2(R - <k,k'>) is an EVEN multiple of g^2, and not 0. *)
Lemma apart_by_grain b : 0 <= g -> (forall a i, (i < n)%nat -> multiple g (word a i)) ->
  0 < apart n (word asked) (word b) -> 2 * (g * g) <= apart n (word asked) (word b).
Proof.
  intros Hg Hm Hp.
  assert (L : g * g <= R - dot n (word asked) (word b)).
  { apply multiple_positive; [nra| |].
    - destruct (dot_multiple n g (word asked) (word b)) as [z Hz]; [apply Hm|apply Hm|].
      destruct (dot_multiple n g (word asked) (word asked)) as [y Hy]; [apply Hm|apply Hm|].
      exists (y - z)%Z. rewrite <- (length_of_words asked), Hz, Hy. unfold Zminus.
      rewrite inject_Z_plus, inject_Z_opp. ring.
    - rewrite apart_square, !length_of_words in Hp. lra. }
  rewrite apart_square, !length_of_words. lra.
Qed.

(** What is computed from the tables: all entries are multiples of g; two words that
    differ in a column differ there by at least d (0 is always right). *)
Theorem words b : 0 <= g -> 0 <= d ->
  (forall a i, (i < n)%nat -> multiple g (word a i)) ->
  (forall a i, (i < n)%nat -> word asked i == word a i \/ d <= Qabs (word asked i - word a i)) ->
  (exists i, (i < n)%nat /\ ~ word asked i == word b i) ->
  c * Qmax (g * g) (d * d / 2) <= dot n q (word asked) - dot n q (word b).
Proof.
  intros Hg Hd Hm Hs [i [Hi Hne]]. rewrite miss_exactly.
  assert (D : 0 < apart n (word asked) (word b)).
  { apply Qlt_le_trans with (Qabs (word asked i - word b i) * Qabs (word asked i - word b i));
      [|apply (apart_column n _ _ _ i); [exact Hi|apply Qabs_nonneg|apply Qle_refl]].
    assert (P : 0 < Qabs (word asked i - word b i)); [|apply Qmult_lt_0_compat; exact P].
    destruct (Qlt_le_dec 0 (Qabs (word asked i - word b i))) as [L|L]; [exact L|exfalso].
    apply Hne. apply Qabs_Qle_condition in L. lra. }
  assert (S : d * d <= apart n (word asked) (word b)).
  { destruct (Hs b i Hi) as [E|L]; [contradiction|]. apply (apart_column n _ _ _ i); assumption. }
  pose proof (apart_by_grain b Hg Hm D) as G.
  assert (M : Qmax (g * g) (d * d / 2) <= apart n (word asked) (word b) / 2).
  { apply Q.max_lub; [apply Qle_shift_div_l; lra|apply Qmult_le_compat_r; [exact S|]].
    apply Qle_bool_iff; reflexivity. }
  apply Qle_trans with (c * (apart n (word asked) (word b) / 2)); [|apply Qle_lteq; right; field].
  rewrite !(Qmult_comm c). apply Qmult_le_compat_r; assumption.
Qed.
End Words.

(** How d is found: each column takes at most two values, and where these differ they are
    at least d apart. *)
Lemma two_values (low high d x y : Q) : (x == low \/ x == high) -> (y == low \/ y == high) ->
  (low == high \/ d <= high - low) -> x == y \/ d <= Qabs (x - y).
Proof.
  intros Hx Hy H. destruct Hx as [Hx|Hx], Hy as [Hy|Hy], H as [H|H]; rewrite Hx, Hy;
    try (left; lra); right; [rewrite Qabs_Qminus|]; apply Qle_trans with (high - low); try exact H;
    apply Qle_Qabs.
Qed.

(** Not empty, and both sides of the maximum are needed, and met: the words ++, +-, -+, --
    (g = 1, d = 2: a miss costs 2c) and 10, 01 (g = d = 1: a miss costs c). *)
Definition sign (b : bool) : Q := if b then 1 else -(1).
Definition signs (b : bool * bool) (i : nat) : Q := sign (match i with O => fst b | _ => snd b end).
Definition one_hot (b : bool) (i : nat) : Q := if Bool.eqb b (Nat.eqb i 0) then 1 else 0.

Example signs_cost a b : a <> b ->
  3 * Qmax (1 * 1) (2 * 2 / 2) <=
    dot 2 (fun i => 3 * signs a i) (signs a) - dot 2 (fun i => 3 * signs a i) (signs b).
Proof.
  intros N. apply (words 2 signs 3 2 0 1 2 _ (fun _ => 0) a); try lra.
  - intros; ring.
  - intros [[] []]; reflexivity.
  - intros [[] []]; reflexivity.
  - intros x i _. unfold signs, sign. destruct i as [|i]; [destruct (fst x)|destruct (snd x)];
      [exists 1%Z|exists (-1)%Z|exists 1%Z|exists (-1)%Z]; reflexivity.
  - intros x i _. unfold signs, sign.
    destruct i as [|i]; [destruct (fst a), (fst x)|destruct (snd a), (snd x)];
      try (left; reflexivity); right; apply Qle_bool_iff; reflexivity.
  - destruct a as [a0 a1], b as [b0 b1].
    destruct (Bool.bool_dec a0 b0) as [->|E].
    + exists 1%nat. split; [lia|]. unfold signs, sign; simpl.
      destruct a1, b1; try (exfalso; apply N; reflexivity); intros H; lra.
    + exists 0%nat. split; [lia|]. unfold signs, sign; simpl.
      destruct a0, b0; try (exfalso; apply E; reflexivity); intros H; lra.
Qed.

Example signs_met : 3 * Qmax (1 * 1) (2 * 2 / 2) ==
  dot 2 (fun i => 3 * signs (true, true) i) (signs (true, true)) -
  dot 2 (fun i => 3 * signs (true, true) i) (signs (true, false)).
Proof. reflexivity. Qed.

Example one_hot_cost a b : a <> b ->
  3 * Qmax (1 * 1) (1 * 1 / 2) <=
    dot 2 (fun i => 3 * one_hot a i) (one_hot a) - dot 2 (fun i => 3 * one_hot a i) (one_hot b).
Proof.
  intros N. apply (words 2 one_hot 3 1 0 1 1 _ (fun _ => 0) a); try lra.
  - intros; ring.
  - intros []; reflexivity.
  - intros []; reflexivity.
  - intros x i _. unfold one_hot. destruct (Bool.eqb x (Nat.eqb i 0)); [exists 1%Z|exists 0%Z]; reflexivity.
  - intros x i _. apply (two_values 0 1); [| |right; lra]; unfold one_hot;
      [destruct (Bool.eqb a _)|destruct (Bool.eqb x _)]; (left; lra) || (right; lra).
  - exists 0%nat. split; [lia|]. unfold one_hot.
    destruct a, b; simpl; try (exfalso; apply N; reflexivity); intros H; lra.
Qed.
Example one_hot_met : 3 * Qmax (1 * 1) (1 * 1 / 2) ==
  dot 2 (fun i => 3 * one_hot true i) (one_hot true) - dot 2 (fun i => 3 * one_hot true i) (one_hot false).
Proof. reflexivity. Qed.
