(** Functions that are chosen together, and the rests that go with all of them.  Where rectangle.v takes one
    function at a time and pays for each, here x of them are taken at once: most x-tuples reach many values,
    and on average many rests go with a tuple.  Used for three hops. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting cover rectangle.

(** ** An entry that still takes many values *)
Lemma entry_with_many m V K x (G : list (list nat)) : incl G (nwords m V) -> NoDup G -> 0 < m ->
  V ^ m <= K * length G -> (x - 1) ^ m * K < V ^ m ->
  exists i Z, i < m /\ length Z = x /\ incl Z G /\ NoDup (map (fun z => nth i z 0) Z).
Proof.
  intros HG NG Hm HK Hx. set (vals := fun i => nodup Nat.eq_dec (map (fun z => nth i z 0) G)).
  destruct (existsb (fun i => x <=? length (vals i)) (seq 0 m)) eqn:E.
  - apply existsb_exists in E. destruct E as [i [Hi E]]. apply in_seq in Hi. apply Nat.leb_le in E.
    assert (Pick : forall l, NoDup l -> incl l (vals i) -> exists Z, length Z = length l /\ incl Z G /\ map (fun z => nth i z 0) Z = l).
    { induction 1 as [|v l Hv Hl IH]; intros Il; [exists []; repeat split; intros z []|].
      destruct IH as [Z [LZ [IZ EZ]]]; [intros v' Hv'; apply Il; right; exact Hv'|].
      pose proof (Il v (or_introl eq_refl)) as Hin. unfold vals in Hin. apply nodup_In, in_map_iff in Hin.
      destruct Hin as [z [Ez Hz]]. exists (z :: Z). simpl. rewrite LZ, EZ, Ez. repeat split.
      intros y [<-|Hy]; auto. }
    destruct (Pick (firstn x (vals i))) as [Z [LZ [IZ EZ]]].
    + apply firstn_NoDup, NoDup_nodup.
    + intros v Hv. apply in_firstn in Hv. exact Hv.
    + exists i, Z. rewrite EZ. split; [lia|]. split; [rewrite LZ, firstn_length; lia|]. split; [exact IZ|].
      apply firstn_NoDup, NoDup_nodup.
  - exfalso. assert (F : length G <= (x - 1) ^ m).
    { assert (Few : forall i, i < m -> length (vals i) <= x - 1).
      { intros i Hi. destruct (le_lt_dec (length (vals i)) (x - 1)) as [L|L]; [exact L|exfalso].
        assert (existsb (fun i => x <=? length (vals i)) (seq 0 m) = true); [|congruence].
        apply existsb_exists. exists i. split; [apply in_seq; lia|]. apply Nat.leb_le. lia. }
      transitivity (length (boxes (map vals (seq 0 m)))).
      - apply NoDup_incl_length; [exact NG|]. intros z Hz. pose proof (HG z Hz) as Wz. apply in_nwords in Wz.
        apply (in_boxes 0); rewrite map_length, seq_length; [tauto|]. intros i Hi.
        rewrite (nth_indep _ [] (vals 0)) by (rewrite map_length, seq_length; exact Hi).
        rewrite map_nth, seq_nth by exact Hi. simpl. apply nodup_In, in_map_iff. eauto.
      - rewrite boxes_length, map_map.
        assert (H : forall n j, (forall i, j <= i < j + n -> length (vals i) <= x - 1) ->
          lprod (map (fun i => length (vals i)) (seq j n)) <= (x - 1) ^ n).
        { induction n as [|n IH]; intros j H; [simpl; lia|]. cbn [seq map]. change (lprod (?a :: ?l)) with (a * lprod l).
          rewrite Nat.pow_succ_r'. apply Nat.mul_le_mono; [apply H; lia|apply IH; intros; apply H; lia]. }
        apply H. intros i Hi. apply Few. lia. }
    nia.
Qed.

(** ** Many functions at once *)
Lemma filter_words {A} (p : A -> bool) x al : NoDup al -> length (filter p al) ^ x <= length (filter (forallb p) (words x al)).
Proof.
  intros N. rewrite <- words_length. apply NoDup_incl_length; [apply words_NoDup, filter_NoDup, N|].
  intros w Hw. apply in_words in Hw. destruct Hw as [L F]. apply filter_In. rewrite forallb_forall.
  rewrite Forall_forall in F. split; [apply in_words; split; [exact L|]; apply Forall_forall|]; intros a Ha;
    specialize (F a Ha); apply filter_In in F; tauto.
Qed.
Section Joint.
Variables l V x k K K2 : nat.
(** The places that can be asked for. *)
Variable ps : list nat.
Hypothesis Nps : NoDup ps.
Hypothesis Hps : forall p, In p ps -> p < l.
Let q := length ps.
Variable G : list (list nat).
Hypothesis HG : incl G (nwords l V).
Hypothesis NG : NoDup G.
Hypothesis HK2 : V ^ l <= K2 * length G.
Hypothesis Hk : k <= V.
Context {Y : Type}.
Variables (S0 : list Y) (NS : NoDup S0) (Rel : list nat -> Y -> bool).
Let deg r := length (filter (fun z => Rel z r) G).
Hypothesis dense : length G * length S0 <= K * lsum deg S0.
Hypothesis PS : 0 < length S0.
Hypothesis PV : 0 < V.
Hypothesis few_tuples : 2 * (binom V k * k ^ (x * q)) * (2 * K * K2) ^ x <= V ^ (x * q).

Definition letters (z : list nat) : list nat := map (fun p => nth p z 0) ps.
Definition reached (Z : list (list nat)) : list nat := nodup Nat.eq_dec (flat_map letters Z).
Definition rich (Z : list (list nat)) : bool := k <? length (reached Z).
Definition with_all (Z : list (list nat)) : list Y := filter (fun r => forallb (fun z => Rel z r) Z) S0.

(** Tuples that reach few values. *)
Definition few_words : list (list nat) := flat_map (words (x * q)) (choose k (seq 0 V)).
Lemma few_words_length : length few_words = binom V k * k ^ (x * q).
Proof.
  unfold few_words. rewrite (length_flat_map_const _ (k ^ (x * q))).
  - rewrite choose_length, seq_length. reflexivity.
  - intros J HJ. rewrite words_length, (in_choose _ _ _ HJ). reflexivity.
Qed.
Definition unasked : list nat := filter (fun p => negb (memb p ps)) (seq 0 l).
Lemma unasked_length : length unasked + q = l.
Proof.
  pose proof (filter_split (fun p => memb p ps) (seq 0 l)) as E. rewrite seq_length in E. fold unasked in E.
  assert (L : length (filter (fun p => memb p ps) (seq 0 l)) = q); [|lia]. apply Nat.le_antisymm; apply NoDup_incl_length.
  - apply filter_NoDup, seq_NoDup.
  - intros p Hp. apply filter_In in Hp. apply memb_true. tauto.
  - exact Nps.
  - intros p Hp. apply filter_In. split; [apply in_seq; specialize (Hps p Hp); lia|apply memb_true, Hp].
Qed.
Definition rest_letters (z : list nat) : list nat := map (fun p => nth p z 0) unasked.
Lemma word_in z : In z G -> length z = l /\ forall p, p < l -> nth p z 0 < V.
Proof. intros Hz. apply HG in Hz. split; [apply in_nwords in Hz; tauto|]. intros p Hp. apply (nwords_nth l); assumption. Qed.
Lemma poor_count : length (filter (fun Z => negb (rich Z)) (words x G)) <= binom V k * k ^ (x * q) * V ^ (x * (l - q)).
Proof.
  pose proof unasked_length as LU. replace (l - q) with (length unasked) by lia.
  rewrite <- few_words_length, <- nwords_length, <- prod_length.
  apply (pigeon (fun Z => (flat_map letters Z, flat_map rest_letters Z))).
  - apply filter_NoDup, words_NoDup, NG.
  - intros Z HZ. apply filter_In in HZ. destruct HZ as [HZ Hp]. apply in_words in HZ. destruct HZ as [LZ FZ].
    rewrite Forall_forall in FZ. apply negb_true_iff, Nat.ltb_ge in Hp. apply in_prod.
    + destruct (choose_complete (seq 0 V) (seq_NoDup V 0) k (reached Z)) as [J [HJ IJ]].
      * apply NoDup_nodup.
      * intros v Hv. unfold reached in Hv. apply nodup_In, in_flat_map in Hv. destruct Hv as [z [Hz Hv]].
        apply in_map_iff in Hv. destruct Hv as [p [<- Hp']]. apply in_seq. split; [lia|]. apply (word_in z (FZ z Hz)), Hps, Hp'.
      * rewrite seq_length. lia.
      * apply in_flat_map. exists J. split; [exact HJ|]. apply in_words. split.
        -- rewrite (length_flat_map_const letters q), LZ; [reflexivity|]. intros z _. apply map_length.
        -- apply Forall_forall. intros v Hv. apply IJ. apply nodup_In, Hv.
    + apply in_nwords. split.
      * rewrite (length_flat_map_const rest_letters (length unasked)), LZ; [reflexivity|]. intros z _. apply map_length.
      * apply Forall_forall. intros v Hv. apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]]. apply in_map_iff in Hv.
        destruct Hv as [p [<- Hp']]. apply filter_In in Hp'. apply (word_in z (FZ z Hz)). destruct Hp' as [Hp' _]. apply in_seq in Hp'. lia.
  - intros Z Z' HZ HZ' E. injection E as E1 E2. apply filter_In in HZ, HZ'. destruct HZ as [HZ _], HZ' as [HZ' _].
    apply in_words in HZ, HZ'. destruct HZ as [LZ FZ], HZ' as [LZ' FZ']. rewrite Forall_forall in FZ, FZ'.
    assert (M1 : map letters Z = map letters Z') by (apply (pieces letters q); [intros; apply map_length|congruence|intros; apply map_length|exact E1]).
    assert (M2 : map rest_letters Z = map rest_letters Z')
      by (apply (pieces rest_letters (length unasked)); [intros; apply map_length|congruence|intros; apply map_length|exact E2]).
    apply (nth_ext_on [] Z Z' x LZ LZ'). intros i Hi.
    assert (N1 : letters (nth i Z []) = letters (nth i Z' []))
      by (apply (f_equal (fun t => nth i t (letters []))) in M1; rewrite !map_nth in M1; exact M1).
    assert (N2 : rest_letters (nth i Z []) = rest_letters (nth i Z' []))
      by (apply (f_equal (fun t => nth i t (rest_letters []))) in M2; rewrite !map_nth in M2; exact M2).
    assert (W : In (nth i Z []) G) by (apply FZ, nth_In; lia). assert (W' : In (nth i Z' []) G) by (apply FZ', nth_In; lia).
    apply (nth_ext_on 0 _ _ l); [apply word_in, W|apply word_in, W'|]. intros p Hp. destruct (memb p ps) eqn:Mp.
    + apply memb_true in Mp. apply (ext_in_map N1), Mp.
    + apply (ext_in_map N2). apply filter_In. split; [apply in_seq; lia|]. rewrite Mp. reflexivity.
Qed.

Theorem joint : exists Z I S, length Z = x /\ incl Z G /\ length I = Datatypes.S k /\ NoDup I /\
  (forall v, In v I -> exists z p, In z Z /\ In p ps /\ nth p z 0 = v) /\
  NoDup S /\ incl S S0 /\ length S0 <= 2 * (2 * K) ^ (x + 1) * length S /\
  (forall z r, In z Z -> In r S -> Rel z r = true).
Proof.
  set (a := length G). set (heavy_rests := filter (fun r => a <=? 2 * K * deg r) S0).
  assert (PG : 0 < a).
  { assert (V ^ l <> 0) by (apply Nat.pow_nonzero; lia). unfold a. destruct (length G); [rewrite Nat.mul_0_r in HK2; lia|lia]. }
  assert (Hd : forall r, In r S0 -> deg r <= a).
  { intros r _. unfold deg, a. rewrite (filter_split (fun z => Rel z r) G). lia. }
  assert (PK : 0 < K) by (destruct K; [unfold a in PG; nia|lia]).
  assert (Many : length S0 <= 2 * K * length heavy_rests).
  { pose proof (heavy deg a K S0 Hd) as Hh. fold heavy_rests in Hh. fold a in dense.
    apply (Nat.mul_le_mono_pos_l _ _ a); [exact PG|]. nia. }
  set (h := length heavy_rests) in *. assert (Ph : 0 < h) by (destruct h; lia).
  set (wa := fun Z => filter (fun r => forallb (fun z => Rel z r) Z) heavy_rests).
  set (M := 2 * (2 * K) ^ x).
  (* on average *)
  assert (Sum : h * a ^ x <= (2 * K) ^ x * lsum (fun Z => length (wa Z)) (words x G)).
  { unfold wa. rewrite double_count, <- lsum_mul. unfold h. rewrite <- lsum_const. apply lsum_le. intros r Hr.
    apply filter_In in Hr. destruct Hr as [_ Hr]. apply Nat.leb_le in Hr.
    etransitivity; [|apply Nat.mul_le_mono_l, (filter_words (fun z => Rel z r) x G NG)].
    fold (deg r). rewrite <- Nat.pow_mul_l. apply Nat.pow_le_mono_l. exact Hr. }
  (* few tuples are poor *)
  assert (Poor : M * length (filter (fun Z => negb (rich Z)) (words x G)) <= a ^ x).
  { pose proof poor_count as P. pose proof unasked_length as LU.
    assert (PK2 : 0 < K2) by (destruct K2; [rewrite Nat.mul_0_l in HK2; pose proof (Nat.pow_nonzero V l); lia|lia]).
    apply (Nat.mul_le_mono_pos_l _ _ (K2 ^ x)); [pose proof (Nat.pow_nonzero K2 x); lia|].
    rewrite <- Nat.pow_mul_l. transitivity ((V ^ l) ^ x); [|apply Nat.pow_le_mono_l, HK2].
    transitivity (K2 ^ x * (M * (binom V k * k ^ (x * q) * V ^ (x * (l - q))))).
    { apply Nat.mul_le_mono_l, Nat.mul_le_mono_l, P. }
    replace ((V ^ l) ^ x) with (V ^ (x * q) * V ^ (x * (l - q))) by (rewrite <- Nat.pow_add_r, <- Nat.pow_mul_r; f_equal; nia).
    transitivity (2 * (binom V k * k ^ (x * q)) * (2 * K * K2) ^ x * V ^ (x * (l - q)));
      [|apply Nat.mul_le_mono_r, few_tuples].
    unfold M. rewrite !Nat.pow_mul_l. apply Nat.eq_le_incl. ring. }
  set (g := fun Z => if rich Z then M * length (wa Z) else 0).
  destruct (exists_ge g h (words x G)) as [Z [HZ HgZ]].
  { rewrite words_length. fold a. pose proof (Nat.pow_nonzero a x). lia. }
  { rewrite words_length. fold a.
    assert (Split : M * lsum (fun Z => length (wa Z)) (words x G) <= lsum g (words x G) + M * (length (filter (fun Z => negb (rich Z)) (words x G)) * h)).
    { rewrite <- lsum_filter. rewrite (Nat.mul_comm _ h), <- !lsum_mul, <- lsum_add. apply lsum_le. intros Z _. unfold g.
      assert (length (wa Z) <= h) by (unfold wa, h; rewrite (filter_split (fun r => forallb (fun z => Rel z r) Z) heavy_rests); lia).
      destruct (rich Z); cbn [negb]; nia. }
    assert (2 * (h * a ^ x) <= M * lsum (fun Z => length (wa Z)) (words x G)) by (unfold M; nia). nia. }
  assert (Rich : rich Z = true) by (unfold g in HgZ; destruct (rich Z); [reflexivity|lia]).
  assert (Eg : h <= M * length (wa Z)) by (unfold g in HgZ; rewrite Rich in HgZ; exact HgZ).
  apply in_words in HZ. destruct HZ as [LZ FZ]. rewrite Forall_forall in FZ. apply Nat.ltb_lt in Rich.
  exists Z, (firstn (Datatypes.S k) (reached Z)), (wa Z). split; [exact LZ|]. split; [exact FZ|].
  split; [rewrite firstn_length; lia|]. split; [apply firstn_NoDup, NoDup_nodup|]. split.
  { intros v Hv. apply in_firstn, nodup_In, in_flat_map in Hv. destruct Hv as [z [Hz Hv]]. apply in_map_iff in Hv.
    destruct Hv as [p [Ev Hp]]. exists z, p. auto. }
  split; [apply filter_NoDup, filter_NoDup, NS|]. split; [intros r Hr; apply filter_In in Hr; destruct Hr as [Hr _]; apply filter_In in Hr; tauto|].
  split.
  - etransitivity; [exact Many|]. etransitivity; [apply Nat.mul_le_mono_l, Eg|]. unfold M. rewrite Nat.add_1_r, Nat.pow_succ_r'.
    apply Nat.eq_le_incl. ring.
  - intros z r Hz Hr. apply filter_In in Hr. destruct Hr as [_ Hr]. rewrite forallb_forall in Hr. apply Hr, Hz.
Qed.
End Joint.
