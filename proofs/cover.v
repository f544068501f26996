(** How many values some of many words surely hold.  G holds a 1/K of the words of length m over m letters; its
    words are cut into y blocks of x0 letters.  Then x1 words of G take more than k values on one of the blocks,
    unless G is small: if no x1 of its words did on any block, they would all be found among the few that take at
    most k values on each.  So nothing is lost to Jensen's and Han's inequalities, and no probability enters. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers.

(** ** Sets of k letters *)
Fixpoint choose (k : nat) (l : list nat) : list (list nat) :=
  match k, l with
  | 0, _ => [[]]
  | S _, [] => []
  | S k', a :: l' => map (cons a) (choose k' l') ++ choose k l'
  end.
Lemma choose_length l : forall k, length (choose k l) = binom (length l) k.
Proof.
  induction l as [|a l IH]; intros [|k]; simpl; auto. rewrite app_length, map_length, !IH. reflexivity.
Qed.
Lemma in_choose l : forall k J, In J (choose k l) -> length J = k.
Proof.
  induction l as [|a l IH]; intros [|k] J H; simpl in H; try (destruct H as [<-|[]]; reflexivity); [destruct H|].
  apply in_app_iff in H. destruct H as [H|H]; [|exact (IH _ _ H)]. apply in_map_iff in H. destruct H as [J' [<- H]].
  simpl. f_equal. exact (IH _ _ H).
Qed.
Lemma choose_complete l : NoDup l -> forall k V, NoDup V -> incl V l -> length V <= k <= length l ->
  exists J, In J (choose k l) /\ incl V J.
Proof.
  induction 1 as [|a l Ha Hl IH]; intros k V HV HI HL.
  { exists []. simpl in HL. destruct V as [|v V]; [|destruct (HI v (or_introl eq_refl))].
    replace k with 0 by lia. split; [simpl; auto|intros x []]. }
  destruct k as [|k]; [exists []; destruct V; [split; [simpl; auto|intros x []]|simpl in HL; lia]|].
  cbn [choose]. simpl in HL.
  assert (Rest : forall x, In x (remove Nat.eq_dec a V) -> In x l).
  { intros x Hx. apply in_remove in Hx. destruct Hx as [Hx N]. destruct (HI x Hx); [congruence|assumption]. }
  assert (NR : NoDup (remove Nat.eq_dec a V)) by (clear -HV; induction HV as [|x V Hx HV IHV]; simpl; [constructor|]; destruct (Nat.eq_dec a x); [exact IHV|constructor; [intros E; apply in_remove in E; tauto|exact IHV]]).
  destruct (in_dec Nat.eq_dec a V) as [In_a|Out].
  - destruct (IH k (remove Nat.eq_dec a V) NR Rest) as [J [HJ IJ]].
    { pose proof (remove_length_lt Nat.eq_dec V a In_a). lia. }
    exists (a :: J). split; [apply in_app_iff; left; apply in_map; exact HJ|]. intros x Hx.
    destruct (Nat.eq_dec x a) as [->|N]; [left; reflexivity|right; apply IJ, in_in_remove; assumption].
  - assert (IV : incl V l) by (intros x Hx; destruct (HI x Hx) as [<-|]; [contradiction|assumption]).
    pose proof (NoDup_incl_length HV IV) as LV.
    destruct (le_lt_dec (S k) (length l)) as [G|G].
    + destruct (IH (S k) V HV IV ltac:(lia)) as [J [HJ IJ]]. exists J. split; [apply in_app_iff; right; exact HJ|exact IJ].
    + destruct (IH k V HV IV ltac:(lia)) as [J [HJ IJ]]. exists (a :: J). split.
      * apply in_app_iff. left. apply in_map. exact HJ.
      * intros x Hx. right. apply IJ, Hx.
Qed.

(** ** One term of the binomial theorem *)
Lemma binom_beyond n : forall k, n < k -> binom n k = 0.
Proof. induction n as [|n IH]; intros [|k] H; simpl; try lia. rewrite !IH by lia. reflexivity. Qed.
Lemma binom_term a b n : forall k, k <= n -> binom n k * (a ^ k * b ^ (n - k)) <= (a + b) ^ n.
Proof.
  induction n as [|n IH]; intros [|k] Hk; [simpl; lia|lia| |].
  - rewrite binom_0. simpl Nat.sub. rewrite Nat.pow_0_r, !Nat.mul_1_l. apply Nat.pow_le_mono_l. lia.
  - cbn [binom]. replace (S n - S k) with (n - k) by lia. rewrite Nat.mul_add_distr_r, (Nat.pow_succ_r' (a + b)), Nat.mul_add_distr_r.
    apply Nat.add_le_mono.
    + etransitivity; [|apply Nat.mul_le_mono_l, (IH k); lia]. rewrite Nat.pow_succ_r'. apply Nat.eq_le_incl. ring.
    + destruct (le_lt_dec (S k) n) as [G|G]; [|rewrite binom_beyond by lia; lia].
      etransitivity; [|apply Nat.mul_le_mono_l, (IH (S k)); lia].
      replace (n - k) with (S (n - S k)) by lia. rewrite (Nat.pow_succ_r' b). apply Nat.eq_le_incl. ring.
Qed.

(** ** Blocks *)
(** Pieces of one length can be taken apart again. *)
Lemma pieces {A} (f : A -> list nat) c Z : (forall z, In z Z -> length (f z) = c) -> forall Z', length Z = length Z' ->
  (forall z, In z Z' -> length (f z) = c) -> flat_map f Z = flat_map f Z' -> map f Z = map f Z'.
Proof.
  induction Z as [|z Z IH]; intros H [|z' Z'] L H' E; try discriminate; [reflexivity|]. cbn [flat_map map] in *.
  assert (Lz : length (f z) = length (f z')) by (rewrite H, H' by (left; reflexivity); reflexivity).
  apply app_eq_app in E. destruct E as [l [[E1 E2]|[E1 E2]]].
  - assert (l = []) by (apply (f_equal (@length nat)) in E1; rewrite app_length in E1; destruct l; [reflexivity|simpl in E1; lia]).
    subst l. rewrite app_nil_r in E1. cbn [length] in L. injection L as L. f_equal; [exact E1|].
    apply IH; [intros; apply H; right; assumption|exact L|intros; apply H'; right; assumption|symmetry; exact E2].
  - assert (l = []) by (apply (f_equal (@length nat)) in E1; rewrite app_length in E1; destruct l; [reflexivity|simpl in E1; lia]).
    subst l. rewrite app_nil_r in E1. cbn [length] in L. injection L as L. f_equal; [symmetry; exact E1|].
    apply IH; [intros; apply H; right; assumption|exact L|intros; apply H'; right; assumption|exact E2].
Qed.
Section Blocks.
Variables m x0 y : nat.
Hypothesis Hy : y * x0 <= m.
Definition block (b : nat) (z : list nat) : list nat := firstn x0 (skipn (b * x0) z).
Lemma block_length b z : length z = m -> b < y -> length (block b z) = x0.
Proof. intros L Hb. unfold block. rewrite firstn_length, skipn_length. nia. Qed.
Lemma block_nth b z i : b < y -> i < x0 -> nth i (block b z) 0 = nth (b * x0 + i) z 0.
Proof.
  intros Hb Hi. unfold block. revert z. generalize (b * x0). intros j z.
  assert (E : forall l k, i < k -> nth i (firstn k l) 0 = nth i l 0).
  { clear. induction i as [|i IH]; intros [|v l] [|k] H; simpl; try lia; auto. apply IH. lia. }
  rewrite E by exact Hi. revert z. induction j as [|j IH]; intros z; [reflexivity|]. destruct z as [|v z]; simpl; [destruct i; reflexivity|].
  apply IH.
Qed.
(** Blocks and what is behind them are the word. *)
Lemma blocks_ext z z' : length z = m -> length z' = m -> (forall b, b < y -> block b z = block b z') ->
  skipn (y * x0) z = skipn (y * x0) z' -> z = z'.
Proof.
  intros L L' B E. apply (nth_ext_on 0 z z' m L L'). intros i Hi. destruct (le_lt_dec (y * x0) i) as [G|G].
  - assert (S : forall (l : list nat) j, j <= i -> nth (i - j) (skipn j l) 0 = nth i l 0).
    { clear. intros l j. revert i l. induction j as [|j IH]; intros i l H; [rewrite Nat.sub_0_r; reflexivity|].
      destruct l as [|v l]; simpl; [destruct (i - S j), i; reflexivity|]. destruct i as [|i]; [lia|]. simpl. apply IH. lia. }
    rewrite <- (S z _ G), <- (S z' _ G), E. reflexivity.
  - assert (P : x0 <> 0) by nia. assert (Hb : i / x0 < y) by (apply Nat.div_lt_upper_bound; lia).
    specialize (B (i / x0) Hb). apply (f_equal (fun l => nth (i mod x0) l 0)) in B.
    rewrite !block_nth in B by (try assumption; apply Nat.mod_upper_bound, P).
    replace (i / x0 * x0 + i mod x0) with i in B by (rewrite (Nat.div_mod i x0 P) at 1; lia). exact B.
Qed.

(** ** The lemma *)
Variables (x1 k K : nat) (G : list (list nat)).
Hypothesis HG : incl G (nwords m m).
Hypothesis NG : NoDup G.
Hypothesis HK : m ^ m <= K * length G.
Hypothesis Hk : k <= m.
Definition values (b : nat) (Z : list (list nat)) : list nat := nodup Nat.eq_dec (flat_map (block b) Z).
Definition few : list (list nat) := flat_map (words (x1 * x0)) (choose k (seq 0 m)).
Lemma few_length : length few = binom m k * k ^ (x1 * x0).
Proof.
  unfold few. rewrite (length_flat_map_const _ (k ^ (x1 * x0))).
  - rewrite choose_length, seq_length. reflexivity.
  - intros J HJ. rewrite words_length, (in_choose _ _ _ HJ). reflexivity.
Qed.
Lemma G_word z : In z G -> length z = m /\ Forall (fun v => v < m) z.
Proof. intros H. apply in_nwords, HG, H. Qed.
Lemma block_below b z v : In z G -> In v (block b z) -> v < m.
Proof.
  intros Hz Hv. destruct (G_word z Hz) as [_ F]. rewrite Forall_forall in F. apply F. unfold block in Hv.
  rewrite <- (firstn_skipn (b * x0) z). apply in_app_iff. right. rewrite <- (firstn_skipn x0 (skipn (b * x0) z)). apply in_app_iff. auto.
Qed.
Lemma in_few b Z : b < y -> In Z (words x1 G) -> length (values b Z) <= k -> In (flat_map (block b) Z) few.
Proof.
  intros Hb HZ Hv. apply in_words in HZ. destruct HZ as [LZ FZ]. rewrite Forall_forall in FZ.
  destruct (choose_complete (seq 0 m) (seq_NoDup m 0) k (values b Z)) as [J [HJ IJ]].
  - apply NoDup_nodup.
  - intros v Hv'. unfold values in Hv'. rewrite nodup_In in Hv'. apply in_flat_map in Hv'. destruct Hv' as [z [Hz Hv']].
    apply in_seq. split; [lia|]. apply (block_below b z); auto.
  - rewrite seq_length. lia.
  - unfold few. apply in_flat_map. exists J. split; [exact HJ|]. apply in_words. split.
    + rewrite (length_flat_map_const _ x0); [lia|]. intros z Hz. apply block_length; [apply G_word; auto|exact Hb].
    + apply Forall_forall. intros v Hv'. apply IJ. unfold values. rewrite nodup_In. exact Hv'.
Qed.
Theorem cover : K ^ x1 * (binom m k * k ^ (x1 * x0)) ^ y < m ^ (x1 * (y * x0)) ->
  exists b Z I, b < y /\ length Z = x1 /\ incl Z G /\ length I = S k /\ NoDup I /\
    forall v, In v I -> v < m /\ exists z i, In z Z /\ b * x0 <= i < b * x0 + x0 /\ nth i z 0 = v.
Proof.
  intros Hlt.
  set (good := fun bZ : nat * list (list nat) => k <? length (values (fst bZ) (snd bZ))).
  destruct (existsb good (list_prod (seq 0 y) (words x1 G))) eqn:E.
  - apply existsb_exists in E. destruct E as [[b Z] [H E]]. apply in_prod_iff in H. destruct H as [Hb HZ].
    apply in_seq in Hb. apply in_words in HZ. destruct HZ as [LZ FZ]. rewrite Forall_forall in FZ. apply Nat.ltb_lt in E. cbn [fst snd] in E.
    assert (Sub : forall v, In v (firstn (S k) (values b Z)) -> In v (values b Z)).
    { intros v Hv. rewrite <- (firstn_skipn (S k)). apply in_app_iff. auto. }
    exists b, Z, (firstn (S k) (values b Z)). split; [lia|]. split; [exact LZ|]. split; [exact FZ|].
    split; [rewrite firstn_length; lia|]. split.
    + pose proof (NoDup_nodup Nat.eq_dec (flat_map (block b) Z)) as ND. fold (values b Z) in ND.
      rewrite <- (firstn_skipn (S k) (values b Z)) in ND. revert ND. generalize (firstn (S k) (values b Z)), (skipn (S k) (values b Z)).
      clear. induction l as [|a l IHl]; intros l' H; [constructor|]. inversion H; subst.
      constructor; [intros Ha; apply H2, in_app_iff; auto|eapply IHl; eassumption].
    + intros v Hv. apply Sub in Hv. unfold values in Hv. rewrite nodup_In in Hv. apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]].
      split; [apply (block_below b z); auto|]. pose proof (block_length b z (proj1 (G_word z (FZ z Hz))) ltac:(lia)) as L.
      apply (In_nth _ _ 0) in Hv. destruct Hv as [i [Hi Ev]]. rewrite L in Hi. rewrite block_nth in Ev by lia.
      exists z, (b * x0 + i). repeat split; [exact Hz|lia|lia|exact Ev].
  - exfalso. assert (Bad : forall b Z, b < y -> In Z (words x1 G) -> length (values b Z) <= k).
    { intros b Z Hb HZ. destruct (le_lt_dec (length (values b Z)) k) as [L|L]; [exact L|].
      assert (existsb good (list_prod (seq 0 y) (words x1 G)) = true); [|congruence].
      apply existsb_exists. exists (b, Z). split; [apply in_prod; [apply in_seq; lia|exact HZ]|]. apply Nat.ltb_lt. exact L. }
    set (tail := fun z : list nat => skipn (y * x0) z). set (r := m - y * x0).
    assert (Ltail : forall z, In z G -> length (tail z) = r).
    { intros z Hz. unfold tail, r. rewrite skipn_length, (proj1 (G_word z Hz)). reflexivity. }
    assert (C : length (words x1 G) <= length (list_prod (words y few) (nwords (x1 * r) m))).
    { apply (pigeon (fun Z => (map (fun b => flat_map (block b) Z) (seq 0 y), flat_map tail Z))).
      - apply words_NoDup, NG.
      - intros Z HZ. apply in_prod.
        + apply in_words. split; [rewrite map_length, seq_length; reflexivity|]. apply Forall_forall. intros w Hw.
          apply in_map_iff in Hw. destruct Hw as [b [<- Hb]]. apply in_seq in Hb. apply in_few; [lia|exact HZ|apply Bad; [lia|exact HZ]].
        + apply in_words in HZ. destruct HZ as [LZ FZ]. rewrite Forall_forall in FZ. apply in_nwords. split.
          * rewrite (length_flat_map_const _ r), LZ; [reflexivity|auto].
          * apply Forall_forall. intros v Hv. apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]].
            destruct (G_word z (FZ z Hz)) as [_ F]. rewrite Forall_forall in F. apply F.
            rewrite <- (firstn_skipn (y * x0) z). apply in_app_iff. auto.
      - intros Z Z' HZ HZ' EZ. injection EZ. intros Et Eb. clear EZ. apply in_words in HZ, HZ'.
        destruct HZ as [LZ FZ], HZ' as [LZ' FZ']. rewrite Forall_forall in FZ, FZ'.
        assert (Lz : forall z, In z Z -> length z = m) by (intros z Hz; apply G_word, FZ, Hz).
        assert (Lz' : forall z, In z Z' -> length z = m) by (intros z Hz; apply G_word, FZ', Hz).
        assert (B : forall b, b < y -> map (block b) Z = map (block b) Z').
        { intros b Hb. apply (pieces (block b) x0); [intros; apply block_length; auto|congruence|intros; apply block_length; auto|].
          apply (ext_in_map Eb b). apply in_seq. lia. }
        assert (T : map tail Z = map tail Z') by (apply (pieces tail r); [auto|congruence|auto|exact Et]).
        apply (nth_ext_on [] Z Z' x1); [exact LZ|exact LZ'|]. intros i Hi.
        apply blocks_ext; [apply Lz, nth_In; lia|apply Lz', nth_In; lia| |].
        + intros b Hb. specialize (B b Hb). apply (f_equal (fun l => nth i l (block b []))) in B. rewrite !map_nth in B. exact B.
        + apply (f_equal (fun l => nth i l (tail []))) in T. rewrite !map_nth in T. exact T. }
    rewrite prod_length, !words_length, nwords_length, few_length in C.
    assert (D : (m ^ m) ^ x1 <= K ^ x1 * ((binom m k * k ^ (x1 * x0)) ^ y * m ^ (x1 * r))).
    { etransitivity; [apply Nat.pow_le_mono_l, HK|]. rewrite Nat.pow_mul_l. apply Nat.mul_le_mono_l, C. }
    rewrite <- Nat.pow_mul_r in D. replace (m * x1) with (x1 * (y * x0) + x1 * r) in D by (unfold r; nia).
    rewrite Nat.pow_add_r, (Nat.mul_assoc (K ^ x1)) in D. destruct (Nat.eq_dec (m ^ (x1 * r)) 0) as [Z|Z].
    + apply Nat.pow_eq_0_iff in Z. destruct Z as [Z M0]. assert (m ^ (x1 * (y * x0)) <= 1) by (subst m; destruct (x1 * (y * x0)); simpl; lia).
      assert (r = 0) by (unfold r; lia). nia.
    + apply Nat.mul_le_mono_pos_r in D; lia.
Qed.
End Blocks.

(** ** In few digits: a/b at most log2(m/k), e/c at least log2(m/(m - k)). *)
Lemma cover_bits s x1 y m k T a b c e :
  k < m -> k <= T -> 2 ^ a * k ^ b <= m ^ b -> m ^ c <= 2 ^ e * (m - k) ^ c ->
  s * x1 * (b * c) + y * (m - k) * (e * b) < y * (T - k) * (a * c) ->
  (2 ^ s) ^ x1 * (binom m k * k ^ T) ^ y < m ^ (T * y).
Proof.
  intros Hk HT Ha He Hlt.
  assert (Pm : m <> 0) by lia. assert (Pd : (m - k) <> 0) by lia.
  set (P := binom m k * k ^ T). set (d := m - k) in *.
  assert (bc : b * c <> 0).
  { intros Z. apply Nat.eq_mul_0 in Z. destruct Z; subst; [|rewrite !Nat.mul_0_r in Hlt; lia].
    rewrite !Nat.pow_0_r, Nat.mul_1_r in Ha. destruct a as [|a]; [rewrite Nat.mul_0_l, Nat.mul_0_r in Hlt; lia|].
    pose proof (Nat.pow_nonzero 2 a). rewrite Nat.pow_succ_r' in Ha. lia. }
  (* binom k^k d^d <= m^m, so P d^d <= m^m k^(T-k) *)
  assert (H1 : P * d ^ d <= m ^ m * k ^ (T - k)).
  { unfold P. replace T with (k + (T - k)) at 1 by lia. rewrite Nat.pow_add_r.
    transitivity (binom m k * (k ^ k * d ^ (m - k)) * k ^ (T - k)); [fold d; apply Nat.eq_le_incl; ring|].
    apply Nat.mul_le_mono_r. replace (m ^ m) with ((k + d) ^ m) by (f_equal; unfold d; lia). apply binom_term. lia. }
  apply (Nat.pow_lt_mono_l_iff _ _ (b * c)); [exact bc|].
  assert (X : 0 < (d ^ d) ^ (y * (b * c))) by (pose proof (Nat.pow_nonzero (d ^ d) (y * (b * c)) (Nat.pow_nonzero _ _ Pd)); lia).
  apply (Nat.mul_lt_mono_pos_r ((d ^ d) ^ (y * (b * c)) * 2 ^ (a * (y * (T - k) * c)))).
  { apply Nat.mul_pos_pos; [exact X|]. pose proof (Nat.pow_nonzero 2 (a * (y * (T - k) * c))). lia. }
  (* left side *)
  apply Nat.le_lt_trans with (2 ^ (s * x1 * (b * c) + y * d * (e * b)) * ((d ^ d) ^ (y * (b * c)) * (m ^ (T * y)) ^ (b * c))).
  - transitivity (2 ^ (s * x1 * (b * c)) * ((P * d ^ d) ^ (y * (b * c)) * 2 ^ (a * (y * (T - k) * c)))).
    { apply Nat.eq_le_incl. rewrite !Nat.pow_mul_l, <- !Nat.pow_mul_r. rewrite !Nat.mul_assoc. reflexivity. }
    transitivity (2 ^ (s * x1 * (b * c)) * ((m ^ m * k ^ (T - k)) ^ (y * (b * c)) * 2 ^ (a * (y * (T - k) * c)))).
    { apply Nat.mul_le_mono_l, Nat.mul_le_mono_r, Nat.pow_le_mono_l, H1. }
    rewrite (Nat.pow_add_r 2 (s * x1 * (b * c))), <- (Nat.mul_assoc (2 ^ (s * x1 * (b * c)))). apply Nat.mul_le_mono_l.
    transitivity ((m ^ m) ^ (y * (b * c)) * (2 ^ a * k ^ b) ^ (y * (T - k) * c)).
    { apply Nat.eq_le_incl. rewrite !Nat.pow_mul_l, <- !Nat.pow_mul_r.
      replace ((T - k) * (y * (b * c))) with (b * (y * (T - k) * c)) by ring. ring. }
    transitivity ((m ^ m) ^ (y * (b * c)) * (m ^ b) ^ (y * (T - k) * c)).
    { apply Nat.mul_le_mono_l, Nat.pow_le_mono_l, Ha. }
    transitivity ((m ^ c) ^ (y * d * b) * (m ^ (T * y)) ^ (b * c)).
    { apply Nat.eq_le_incl. rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. f_equal.
      replace m with (k + d) at 1 by (unfold d; lia). replace T with (k + (T - k)) at 2 by lia. ring. }
    transitivity ((2 ^ e * d ^ c) ^ (y * d * b) * (m ^ (T * y)) ^ (b * c)).
    { apply Nat.mul_le_mono_r, Nat.pow_le_mono_l, He. }
    apply Nat.eq_le_incl. rewrite Nat.pow_mul_l, <- !Nat.pow_mul_r.
    replace (e * (y * d * b)) with (y * d * (e * b)) by ring. replace (c * (y * d * b)) with (d * (y * (b * c))) by ring. ring.
  - assert (E : 2 ^ (s * x1 * (b * c) + y * d * (e * b)) < 2 ^ (a * (y * (T - k) * c))) by (apply Nat.pow_lt_mono_r; [lia|nia]).
    assert (M : 0 < (m ^ (T * y)) ^ (b * c)) by (pose proof (Nat.pow_nonzero _ (b * c) (Nat.pow_nonzero m (T * y) Pm)); lia).
    revert E M X. generalize (2 ^ (s * x1 * (b * c) + y * d * (e * b))), (2 ^ (a * (y * (T - k) * c))),
      ((m ^ (T * y)) ^ (b * c)), ((d ^ d) ^ (y * (b * c))). clear. intros p q r t E M X.
    replace (p * (t * r)) with (t * r * p) by ring. replace (r * (t * q)) with (t * r * q) by ring.
    apply Nat.mul_lt_mono_pos_l; [apply Nat.mul_pos_pos; assumption|exact E].
Qed.
