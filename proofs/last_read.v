(** A stack of recurrences whose last state is read by an affine map: what is kept below it takes one of N values,
    and for each of them the last layer answers at most R k v of the 2^v words, whatever numbers it holds. *)
From Coq Require Import List Arith NArith Lia Bool.
From Limen Require Import linear_read.
Import ListNotations.

(** * Sauer's lemma *)
(** Σ_{i≤k} C(v,i) *)
Fixpoint R (k v : nat) : nat :=
  match v with
  | 0 => 1
  | S v' => match k with 0 => 1 | S k' => R k v' + R k' v' end
  end.
Definition bit (w : list bool) (p : nat) : bool := nth p w false.
(** all answers occur at the places [ps] *)
Definition shattered (W : list (list bool)) (ps : list nat) : Prop :=
  forall rs, length rs = length ps -> exists w, In w W /\ map (bit w) ps = rs.
Definition word_dec : forall a b : list bool, {a = b} + {a <> b} := list_eq_dec bool_dec.
Definition tails (b : bool) (W : list (list bool)) : list (list bool) :=
  map (@tl bool) (filter (fun w => Bool.eqb (hd false w) b) W).

Lemma in_tails b W w v : (forall u, In u W -> length u = S v) -> In w (tails b W) -> In (b :: w) W.
Proof.
  intros L H. apply in_map_iff in H as (u & <- & H). apply filter_In in H as [H E]. specialize (L u H).
  destruct u as [|c u]; [discriminate|]. cbn in E. apply eqb_prop in E. now subst c.
Qed.
Lemma tails_distinct b W v : (forall u, In u W -> length u = S v) -> NoDup W -> NoDup (tails b W).
Proof.
  unfold tails. intros L D. induction D as [|w W N D IH]; [constructor|]. cbn.
  destruct (Bool.eqb (hd false w) b) eqn:E; [|apply IH; intros u Hu; apply L; now right].
  cbn. constructor; [|apply IH; intros u Hu; apply L; now right].
  intros H. apply N. assert (Q : In (b :: tl w) W).
  { apply (in_tails b W (tl w) v); [intros u Hu; apply L; now right|exact H]. }
  pose proof (L w (or_introl eq_refl)) as Lw. destruct w as [|c w]; [discriminate|]. cbn in *. apply eqb_prop in E. now subst c.
Qed.
Lemma tails_count W : length (tails true W) + length (tails false W) = length W.
Proof.
  unfold tails. rewrite !map_length. induction W as [|w W IH]; [reflexivity|]. cbn. destruct (hd false w); cbn; lia.
Qed.

Theorem sauer v : forall k W, NoDup W -> (forall w, In w W -> length w = v) -> R k v < length W ->
  exists ps, length ps = S k /\ (forall p, In p ps -> p < v) /\ shattered W ps.
Proof.
  induction v as [|v IH]; intros k W D L H.
  - exfalso. destruct W as [|a [|b W]]; cbn in H; try lia.
    pose proof (L a (or_introl eq_refl)). pose proof (L b (or_intror (or_introl eq_refl))).
    destruct a, b; try discriminate. inversion D. subst. now apply H4; left.
  - set (A1 := tails true W). set (A0 := tails false W).
    set (both := filter (fun w => if in_dec word_dec w A1 then true else false) A0).
    set (some := A1 ++ filter (fun w => if in_dec word_dec w A1 then false else true) A0).
    assert (D1 : NoDup A1) by (now apply tails_distinct with v). assert (D0 : NoDup A0) by (now apply tails_distinct with v).
    assert (C : length some + length both = length W).
    { rewrite <- (tails_count W). fold A1 A0. unfold some, both. rewrite app_length.
      assert (Q : forall l, length (filter (fun w => if in_dec word_dec w A1 then false else true) l)
        + length (filter (fun w => if in_dec word_dec w A1 then true else false) l) = length l).
      { induction l as [|x l Hl]; [reflexivity|]. cbn. destruct (in_dec word_dec x A1); cbn; lia. }
      specialize (Q A0). lia. }
    assert (S1 : forall w, In w some -> exists b, In (b :: w) W).
    { intros w Hw. apply in_app_iff in Hw as [Hw|Hw].
      - exists true. now apply (in_tails true W w v).
      - apply filter_In in Hw as [Hw _]. exists false. now apply (in_tails false W w v). }
    assert (S2 : forall w b, In w both -> In (b :: w) W).
    { intros w b Hw. apply filter_In in Hw as [Hw E]. destruct (in_dec word_dec w A1) as [H1|]; [|discriminate].
      destruct b; [now apply (in_tails true W w v)|now apply (in_tails false W w v)]. }
    assert (Ds : NoDup some).
    { assert (G : forall l, NoDup l -> NoDup (A1 ++ filter (fun w => if in_dec word_dec w A1 then false else true) l)).
      { induction 1 as [|x l N Dl Hl]; cbn; [now rewrite app_nil_r|].
        destruct (in_dec word_dec x A1) as [Hx|Hx]; [exact Hl|].
        apply NoDup_Add with (a := x) (l := A1 ++ filter (fun w => if in_dec word_dec w A1 then false else true) l).
        - apply Add_app.
        - split; [exact Hl|]. intros Hi. apply in_app_iff in Hi as [Hi|Hi]; [contradiction|].
          apply filter_In in Hi as [Hi _]. contradiction. }
      now apply G. }
    assert (Db : NoDup both) by (now apply NoDup_filter).
    assert (Ls : forall w, In w some -> length w = v).
    { intros w Hw. destruct (S1 w Hw) as (b & Hb). apply L in Hb. cbn in Hb. lia. }
    assert (Lb : forall w, In w both -> length w = v).
    { intros w Hw. pose proof (L _ (S2 w true Hw)) as Hb. cbn in Hb. lia. }
    assert (Lift : forall ps, shattered some ps -> shattered W (map S ps)).
    { intros ps Hp rs Hr. rewrite map_length in Hr. destruct (Hp rs Hr) as (w & Hw & <-). destruct (S1 w Hw) as (b & Hb).
      exists (b :: w). split; [exact Hb|]. now rewrite map_map. }
    assert (Up : forall ps, (forall p, In p ps -> p < v) -> forall p, In p (map S ps) -> p < S v).
    { intros ps Hp p Hi. apply in_map_iff in Hi as (q & <- & Hq). specialize (Hp q Hq). lia. }
    assert (Both : forall ps, shattered both ps -> shattered W (0 :: map S ps)).
    { intros ps Hp [|r rs] Hr; [discriminate|]. cbn in Hr. rewrite map_length in Hr.
      destruct (Hp rs ltac:(lia)) as (w & Hw & <-). exists (r :: w). split; [now apply S2|]. cbn. now rewrite map_map. }
    destruct k as [|k]; cbn in H.
    + destruct (le_lt_dec (length some) (R 0 v)) as [Q|Q].
      * assert (Q' : length some <= 1) by (destruct v; exact Q).
        assert (X : exists w, In w both) by (destruct both as [|w l]; [cbn in C; lia|exists w; now left]).
        destruct X as (w & Hw). exists [0]. split; [reflexivity|]. split; [intros p [<-|[]]; lia|].
        apply (Both []). intros [|] Hr; [|discriminate]. now exists w.
      * destruct (IH 0 some Ds Ls Q) as (ps & E & B & Sh). exists (map S ps). rewrite map_length. exact (conj E (conj (Up ps B) (Lift ps Sh))).
    + destruct (le_lt_dec (length some) (R (S k) v)) as [Q|Q].
      * destruct (IH k both Db Lb ltac:(lia)) as (ps & E & B & Sh). exists (0 :: map S ps). cbn. rewrite map_length.
        repeat split; [lia| |now apply Both]. intros p [<-|Hp]; [lia|now apply (Up ps)].
      * destruct (IH (S k) some Ds Ls Q) as (ps & E & B & Sh). exists (map S ps). rewrite map_length. exact (conj E (conj (Up ps B) (Lift ps Sh))).
Qed.

(** * Words and what is kept of them *)
Fixpoint words (v : nat) : list (list bool) :=
  match v with 0 => [[]] | S v' => map (cons true) (words v') ++ map (cons false) (words v') end.
Lemma words_count v : length (words v) = 2 ^ v.
Proof. induction v as [|v IH]; [reflexivity|]. cbn. rewrite app_length, !map_length, IH. lia. Qed.
Lemma words_length v w : In w (words v) -> length w = v.
Proof.
  revert w. induction v as [|v IH]; intros w H; [now destruct H as [<-|[]]|]. cbn in H.
  apply in_app_iff in H as [H|H]; apply in_map_iff in H as (u & <- & H); cbn; now rewrite (IH u H).
Qed.
Lemma words_distinct v : NoDup (words v).
Proof.
  induction v as [|v IH]; [repeat constructor; auto|]. cbn.
  assert (I : forall b, NoDup (map (cons b) (words v))) by (intros b; apply FinFun.Injective_map_NoDup; [congruence|exact IH]).
  assert (G : forall l, (forall w, In w l -> hd false w = true) -> NoDup l ->
    NoDup (l ++ map (cons false) (words v))).
  { induction l as [|x l Hl]; intros Hh Dl; [apply I|]. inversion Dl. subst. cbn. constructor.
    - intros Hi. apply in_app_iff in Hi as [Hi|Hi]; [contradiction|]. apply in_map_iff in Hi as (u & <- & _).
      specialize (Hh _ (or_introl eq_refl)). discriminate.
    - apply Hl; [intros w Hw; apply Hh; now right|assumption]. }
  apply G; [|apply I]. intros w Hw. now apply in_map_iff in Hw as (u & <- & _).
Qed.
(** of so many words some more than an N-th part is kept alike *)
Lemma kept_alike {X} (low : X -> nat) N m (W : list X) : (forall w, In w W -> low w < N) -> N * m < length W ->
  exists s, m < length (filter (fun w => low w =? s) W).
Proof.
  revert W. induction N as [|N IH]; intros W B H.
  - destruct W as [|w W]; [cbn in H; lia|]. specialize (B w (or_introl eq_refl)). lia.
  - destruct (le_lt_dec (length (filter (fun w => low w =? N) W)) m) as [Q|Q]; [|now exists N].
    destruct (IH (filter (fun w => negb (low w =? N)) W)) as (s & Hs).
    + intros w Hw. apply filter_In in Hw as [Hw E]. specialize (B w Hw). apply negb_true_iff, Nat.eqb_neq in E. lia.
    + assert (T : length (filter (fun w => low w =? N) W) + length (filter (fun w => negb (low w =? N)) W) = length W).
      { clear. induction W as [|w W Hw]; [reflexivity|]. cbn. destruct (low w =? N); cbn; lia. }
      nia.
    + exists s. eapply Nat.lt_le_trans; [exact Hs|]. clear. induction W as [|w W Hw]; [reflexivity|]. cbn.
      destruct (low w =? N) eqn:E, (low w =? s) eqn:E'; cbn; try rewrite E'; cbn; lia.
Qed.

(** If, whatever is kept, no more than k questions are free, then 2^v words need N kept values: 2^v <= N R(k,v). *)
Theorem last_read v N k (low : list bool -> nat) : (forall w, length w = v -> low w < N) ->
  (forall s ps, (forall p, In p ps -> p < v) ->
     (forall rs, length rs = length ps -> exists w, length w = v /\ low w = s /\ map (bit w) ps = rs) -> length ps <= k) ->
  2 ^ v <= N * R k v.
Proof.
  intros B F. destruct (le_lt_dec (2 ^ v) (N * R k v)) as [Q|Q]; [exact Q|exfalso]. rewrite <- words_count in Q.
  destruct (kept_alike low N (R k v) (words v)) as (s & Hs); [|exact Q|].
  - intros w Hw. apply B. now apply words_length.
  - destruct (sauer v k (filter (fun w => low w =? s) (words v))) as (ps & E & P & Sh); [| |exact Hs|].
    + apply NoDup_filter, words_distinct.
    + intros w Hw. apply filter_In in Hw as [Hw _]. now apply words_length.
    + assert (T : length ps <= k).
      { apply (F s); [exact P|]. intros rs Hr. destruct (Sh rs Hr) as (w & Hw & Em). exists w.
        apply filter_In in Hw as [Hw El]. apply Nat.eqb_eq in El. now repeat split; [apply words_length| |]. }
      lia.
Qed.

(** * Concrete verdicts *)
(** Below the last layer the stack keeps one of N values of the symbols; the last layer may depend on it in any way. *)
Record stack (F : numbers) (N : nat) := Stack {
  kept : list nat -> nat;
  kept_few : forall s, kept s < N;
  last : nat -> layer F }.
Definition stack_looks_up F N H k (M : stack F N) n V : Prop :=
  forall s, length s = n -> (forall x, In x s -> x < V) ->
  forall i, i < n -> first_largest F V (logit F H k (last F N M (kept F N M s)) i s) (nth i s 0).

Lemma symbol_bit w i : i < length w -> (nth i (symbols w) 0 =? 0) = bit w i.
Proof.
  revert i. induction w as [|b w IH]; intros i H; [cbn in H; lia|]. destruct i as [|i]; [now destruct b|].
  cbn in H. apply (IH i). lia.
Qed.

Theorem stack_bound F N H k (M : stack F N) n V : 2 <= V -> stack_looks_up F N H k M n V -> 2 ^ n <= N * R (H * k) n.
Proof.
  intros HV Up. apply (last_read n N (H * k) (fun w => kept F N M (symbols w))).
  - intros w _. apply kept_few.
  - intros s ps P Free.
    apply (look_up_some F H k (last F N M s) n V (fun w => kept F N M (symbols w) = s) ps HV).
    + intros bs L A i Hi. rewrite <- A. apply Up; [unfold symbols; now rewrite map_length| |now apply P].
      intros x Hx. unfold symbols in Hx. apply in_map_iff in Hx as ([] & <- & _); lia.
    + intros rs Hr. destruct (Free rs Hr) as (w & L & A & <-). exists w. repeat split; [exact L|exact A|].
      apply map_ext_in. intros i Hi. apply symbol_bit. rewrite L. now apply P.
Qed.

Lemma R_small v : forall k, R k v <= (v + 1) ^ k.
Proof.
  induction v as [|v IH]; intros k; cbn [R].
  - change (0 + 1) with 1. rewrite Nat.pow_1_l. lia.
  - destruct k as [|k]; [cbn; lia|]. pose proof (IH (S k)) as A. pose proof (IH k) as B.
    rewrite Nat.pow_succ_r' in A. rewrite Nat.pow_succ_r'.
    apply Nat.le_trans with ((S v + 1) * (v + 1) ^ k); [nia|]. apply Nat.mul_le_mono_l, Nat.pow_le_mono_l. lia.
Qed.

(** S bits are kept below the last layer; n + 1 <= 2^L, so R (H k) n <= 2^(H k L) *)
Theorem cannot_look_up_in_stack (S H k n V L : N) :
  ((S + H * k * L <? n) && (n + 1 <=? 2 ^ L) && (2 <=? V))%N = true ->
  forall (F : numbers) (M : stack F (2 ^ N.to_nat S)),
  ~ stack_looks_up F (2 ^ N.to_nat S) (N.to_nat H) (N.to_nat k) M (N.to_nat n) (N.to_nat V).
Proof.
  intros C F M Up. apply andb_true_iff in C as [C HV]. apply andb_true_iff in C as [HS HL].
  apply N.ltb_lt in HS. apply N.leb_le in HL, HV. apply stack_bound in Up; [|lia].
  assert (A : N.to_nat n + 1 <= 2 ^ N.to_nat L).
  { replace (N.to_nat n + 1) with (N.to_nat (n + 1)) by lia. replace (2 ^ N.to_nat L) with (N.to_nat (2 ^ L)).
    - lia.
    - now rewrite N2Nat.inj_pow. }
  assert (B : R (N.to_nat H * N.to_nat k) (N.to_nat n) <= 2 ^ (N.to_nat L * (N.to_nat H * N.to_nat k))).
  { rewrite Nat.pow_mul_r. eapply Nat.le_trans; [apply R_small|]. now apply Nat.pow_le_mono_l. }
  assert (G : 2 ^ N.to_nat n <= 2 ^ (N.to_nat S + N.to_nat L * (N.to_nat H * N.to_nat k))).
  { rewrite Nat.pow_add_r. eapply Nat.le_trans; [exact Up|]. now apply Nat.mul_le_mono_l. }
  apply Nat.pow_le_mono_r_iff in G; [|lia]. nia.
Qed.

(** Not about nothing: three symbols, one bit below and no number above. *)
Example three_bits : forall (F : numbers) (M : stack F (2 ^ 1)), ~ stack_looks_up F (2 ^ 1) 1 0 M 3 2.
Proof. exact (cannot_look_up_in_stack 1 1 0 3 2 2 eq_refl). Qed.
