(** Composition of two hops by two layers, with pairs of values: a second count over the conversation of
    each_w.v.  There every entry of z_1 may take b values, and z_2 has to be asked for what it tells each of them:
    h b replies.  Here all entries but one take one of two values each, which are chosen beforehand: 2 h + b
    replies.  Most entries are free then (cubes.v): of the entry that z_0 asks for, w cannot know which of b
    (h - d) / h values it has, on average over w, where d bits are known of z_1.  So N^G <= the number of
    things that z_2 can say, G = n_1 b (h - d) / h.  It is exact where an average over random inputs was needed. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state cubes two_hops_stack each_w composition_depth each_w_stack.

Section Pairs.
Variables m n1 h b d : nat.
Let N := n1 * m.
Hypothesis Hh : 0 < h.
Hypothesis Hb : 0 < b.
Hypothesis Hbm : b <= m.
Hypothesis Hd : d <= h.
Variables Sg Rw Rb Rq : Type.
Variable Sg_dec : forall a c : Sg, {a = c} + {a <> c}.
Variable sg : list nat -> Sg.
Variable tell_w : list nat -> nat -> Rw.
Variable tell_0 : list nat -> nat -> Rb.
Variable tell_1 : list nat -> nat -> nat -> Rb.
Variable know : nat -> list nat -> Sg -> nat.
Variable tell_q : list nat -> nat -> nat -> nat -> Rw -> Sg -> Rq.
Variable out : nat -> nat -> list nat -> Sg -> Rw -> Rb -> list Rb -> Rq -> nat.
Variables (Ls : list Sg) (Lw : list Rw) (Lb : list Rb) (Lq : list Rq).
Hypothesis Hsg : forall z2, In z2 (nwords N N) -> In (sg z2) Ls.
Hypothesis Hknow : forall w r s, know w r s < 2 ^ d.
Hypothesis Hw : forall z2 w, In z2 (nwords N N) -> In (tell_w z2 w) Lw.
Hypothesis H0 : forall z2 z0, In z2 (nwords N N) -> In (tell_0 z2 z0) Lb.
Hypothesis H1 : forall z2 i x, In z2 (nwords N N) -> In (tell_1 z2 i x) Lb.
Hypothesis Hq : forall z2 w z0 k r s, In z2 (nwords N N) -> In (tell_q z2 w z0 k r s) Lq.
(** One group of h entries. *)
Hypothesis C : correct_w m n1 1 h b Sg Rw Rb Rq sg tell_w tell_0 tell_1 know tell_q out.

Section Count.
Variables (s : Sg) (S2 : list (list nat)) (a : nat) (c0 c1 : list nat) (c : nat -> nat).
Hypothesis NS : NoDup S2.
Hypothesis IS : incl S2 (nwords N N).
Hypothesis Hs : forall z2, In z2 S2 -> sg z2 = s.
Hypothesis Ha : a < h.
Hypothesis Hc0 : In c0 (nwords h b).
Hypothesis Hc1 : In c1 (nwords h b).
(** The values that the entry a may have, as far as w knows. *)
Definition open_values (w : nat) : list nat := possible h b (fun r => know w r s) a c0 c1 (c w).
Definition asked_for : list nat := flat_map (fun w => map (fun v => w * m + v) (open_values w)) (seq 0 n1).
Lemma open_values_spec w v : In v (open_values w) -> v < b /\ exists r, In r (nwords h b) /\ know w r s = c w /\
  nth a r 0 = v /\ forall i, i < h -> In (i, nth i r 0) (spots h b a c0 c1).
Proof. apply (possible_word h b (fun r => know w r s)); assumption. Qed.
Lemma asked_for_spec e : In e asked_for -> exists w v, w < n1 /\ In v (open_values w) /\ e = w * m + v.
Proof.
  intros H. apply in_flat_map in H. destruct H as [w [Hw' H]]. apply in_map_iff in H. destruct H as [v [<- Hv]].
  apply in_seq in Hw'. exists w, v. repeat split; auto. lia.
Qed.
Lemma asked_for_NoDup : NoDup asked_for.
Proof.
  apply NoDup_flat_map; [apply seq_NoDup| |].
  - intros w _. apply map_NoDup_on; [apply filter_NoDup, seq_NoDup|]. intros; lia.
  - intros w w' e _ _ G G'. apply in_map_iff in G, G'. destruct G as [v [<- Gv]], G' as [v' [Ev Gv']].
    apply open_values_spec in Gv, Gv'. nia.
Qed.
Definition others : list nat := filter (fun e => negb (memb e asked_for)) (seq 0 N).
Lemma others_length : length asked_for + length others <= N.
Proof.
  assert (EN : N = length (filter (fun e => memb e asked_for) (seq 0 N)) + length others).
  { unfold others. rewrite <- filter_split. symmetry; apply seq_length. }
  assert (L : length asked_for <= length (filter (fun e => memb e asked_for) (seq 0 N))); [|lia].
  apply NoDup_incl_length; [apply asked_for_NoDup|]. intros e He. apply filter_In. split; [|apply memb_true, He].
  apply asked_for_spec in He. destruct He as [w [v [Hw' [Hv ->]]]]. apply open_values_spec in Hv. apply in_seq. unfold N. nia.
Qed.

Definition told_of (z2 : list nat) :=
  (map (tell_w z2) (seq 0 n1), (tell_0 z2 a, (map (fun q => tell_1 z2 (fst q) (snd q)) (spots h b a c0 c1),
    (map (fun w => tell_q z2 w a (c w) (tell_w z2 w) s) (seq 0 n1), map (fun e => nth e z2 0) others)))).
Lemma pairs_count : length S2 <= length Lw ^ n1 * (length Lb * (length Lb ^ (2 * (h - 1) + b) *
  (length Lq ^ n1 * N ^ length others))).
Proof.
  replace (length Lw ^ n1 * _) with (length (list_prod (words n1 Lw) (list_prod Lb (list_prod (words (2 * (h - 1) + b) Lb)
    (list_prod (words n1 Lq) (nwords (length others) N))))))
    by (rewrite !prod_length, nwords_length, !words_length; reflexivity).
  apply (pigeon told_of); [exact NS| |].
  - intros z2 Hz. apply IS in Hz. unfold told_of. repeat apply in_prod; auto.
    + apply map_words; [apply seq_length|]. auto.
    + apply map_words; [apply spots_length, Ha|]. auto.
    + apply map_words; [apply seq_length|]. auto.
    + apply map_words; [reflexivity|]. intros e He. apply filter_In in He. destruct He as [He _].
      apply in_seq in He. apply in_seq. split; [lia|]. apply (nwords_nth N); [exact Hz|lia].
  - intros u v Hu Hv Et. injection Et. intros Erest Eq E1 E0 Ew. clear Et.
    pose proof (IS u Hu) as Bu. pose proof (IS v Hv) as Bv.
    assert (Lu : length u = N) by (apply in_nwords in Bu; tauto).
    assert (Lv : length v = N) by (apply in_nwords in Bv; tauto).
    apply (nth_ext_on 0 u v N); auto. intros e He.
    destruct (memb e asked_for) eqn:Ra.
    + apply memb_true, asked_for_spec in Ra. destruct Ra as [w [x [Hw' [Hx Ee]]]].
      destruct (open_values_spec w x Hx) as [Hxb [r [Hr [Hk [Hxr Hri]]]]].
      assert (Hr1 : In r (nwords (1 * h) b)) by (rewrite Nat.mul_1_l; exact Hr).
      pose proof (C w a r u Hw' ltac:(lia) Hr1 Bu) as Cu. pose proof (C w a r v Hw' ltac:(lia) Hr1 Bv) as Cv.
      unfold truth_w, value in Cu, Cv. rewrite Nat.div_small, Nat.mul_0_l, Nat.add_0_l, Hxr, <- Ee in Cu, Cv by exact Ha.
      rewrite <- Cu, <- Cv. unfold ans_w. rewrite (Hs u Hu), (Hs v Hv), Hk.
      assert (Gw : tell_w u w = tell_w v w) by (apply (ext_in_map Ew); apply in_seq; lia).
      assert (Gq : tell_q u w a (c w) (tell_w u w) s = tell_q v w a (c w) (tell_w v w) s)
        by (apply (ext_in_map Eq w); apply in_seq; lia).
      rewrite Gq, E0, Gw. f_equal. apply map_ext_in. intros i Hi. apply in_seq in Hi.
      apply (ext_in_map E1 (i, nth i r 0)). apply Hri. lia.
    + apply (ext_in_map Erest). apply filter_In. split; [apply in_seq; lia|]. rewrite Ra. reflexivity.
Qed.
End Count.

Theorem pairs G : 0 < n1 -> h * (G - 1) < n1 * (b * (h - d)) ->
  N ^ G <= length Ls * (length Lw ^ n1 * (length Lb ^ (2 * h + b - 1) * length Lq ^ n1)).
Proof.
  intros Hn HG. assert (HN : 0 < N) by (unfold N; nia).
  assert (PB : 0 < length (nwords N N)) by (rewrite nwords_length; pose proof (Nat.pow_nonzero N N); lia).
  destruct (popular_in Sg_dec sg Ls (nwords N N)) as [s Ls2]; [intros EB; rewrite EB in PB; simpl in PB; lia|exact Hsg|].
  set (S2 := filter (fun a => if Sg_dec (sg a) s then true else false) (nwords N N)) in *.
  destruct (cube_for_all n1 h b d (fun w r => know w r s) Hd Hh Hb (fun w r => Hknow w r s)) as [a [c0 [c1 [c [Ha [Hc0 [Hc1 Hmany]]]]]]].
  assert (NS : NoDup S2) by (apply filter_NoDup, nwords_NoDup).
  assert (IS : incl S2 (nwords N N)) by (intros z Hz; apply filter_In in Hz; tauto).
  assert (Hs : forall z2, In z2 S2 -> sg z2 = s).
  { intros z2 Hz. apply filter_In in Hz. destruct Hz as [_ Hz]. destruct (Sg_dec (sg z2) s); [assumption|discriminate]. }
  pose proof (pairs_count s S2 a c0 c1 c NS IS Hs Ha Hc0 Hc1) as F.
  pose proof (others_length s a c0 c1 c Ha Hc0 Hc1) as UL. set (un := others s a c0 c1 c) in *.
  assert (AL : G <= length (asked_for s a c0 c1 c)).
  { unfold asked_for. rewrite flat_map_sum.
    replace (list_sum _) with (lsum (fun w => length (possible h b (fun r => know w r s) a c0 c1 (c w))) (seq 0 n1)); [nia|].
    unfold lsum. f_equal. apply map_ext. intros w. rewrite map_length. reflexivity. }
  assert (P : 0 < N ^ length un) by (pose proof (Nat.pow_nonzero N (length un)); lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N ^ length un) P). rewrite <- Nat.pow_add_r.
  transitivity (N ^ N); [apply Nat.pow_le_mono_r; lia|]. rewrite <- nwords_length. etransitivity; [exact Ls2|].
  rewrite <- (Nat.mul_assoc (length Ls)). apply Nat.mul_le_mono_l. etransitivity; [exact F|].
  replace (2 * h + b - 1) with (S (2 * (h - 1) + b)) by lia. rewrite Nat.pow_succ_r'. apply Nat.eq_le_incl. ring.
Qed.
End Pairs.

(** ** Two layers, token by token *)
Theorem two_layers_pairs (M : two_layers) m n1 h b G s0 s1 w0 w1 :
  0 < h -> 0 < b -> 0 < n1 -> b <= m -> h <= m -> w0 + s0 <= h ->
  h * (G - 1) < n1 * (b * (h - (w0 + s0))) -> two_size M m n1 s0 s1 w0 w1 ->
  (forall v z0 z1 z2, v < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords (n1 * m) (n1 * m)) ->
     run_two M v z0 z1 z2 = nth (v * m + nth z0 z1 0) z2 0) ->
  (n1 * m) ^ G <= 2 ^ (s0 + s1 + n1 * (w0 + w1) + w0 * (2 * h + b - 1)).
Proof.
  intros Hh Hb Hn1 Hbm Hhm Hd HG [Hpre [Hpost [[Lw [HLw Htold]] [L2 [HL2 Htold2]]]]] C.
  destruct (Hpre (n1 * m + (m - 1 * h)) ltac:(lia)) as [Lp [HLp Hp]].
  destruct (Hpre (n1 * m + m) ltac:(lia)) as [Ls [HLs Hs]].
  destruct (Hpost (n1 * m + (m - 1 * h)) ltac:(lia)) as [Lt [HLt Ht]].
  assert (PL : 0 < length Ls).
  { pose proof (Hs (repeat (e0 M 0) (n1 * m + m)) (repeat_length _ _)) as I. destruct Ls; [destruct I|simpl; lia]. }
  assert (Hh1 : 1 * h <= m) by lia. pose proof (pairs m n1 h b (w0 + s0) Hh Hb Hbm Hd (Sp M * Sq M) (C1 M) (C1 M) (C2 M)) as W.
  specialize (W ltac:(decide equality; [apply Sq_dec|apply Sp_dec])).
  specialize (W (c_sg M m 1 h) (c_w M m 1 h) (c_0 M m 1 h) (c_1 M m 1 h b) (c_know M m 1 h b Ls Lw)
    (c_q M m 1 h Ls Lw) (c_out M m 1 h b) (list_prod Lp Lt) Lw Lw L2).
  assert (B : (n1 * m) ^ G <= length (list_prod Lp Lt) *
    (length Lw ^ n1 * (length Lw ^ (2 * h + b - 1) * length L2 ^ n1))).
  { apply W; try assumption.
    - intros z2 Hz. apply in_prod; [apply Hp|apply Ht; rewrite layer1_length]; apply P_length, Hz.
    - intros v r g. exact (known_lt M m n1 1 h b Ls Lw Hh1 Htold s0 w0 v r (fst g) HLs HLw PL).
    - intros z2 v Hz. apply (told_in M m n1 1 h Lw Hh1 Htold _ _ Hz).
    - intros z2 i Hz. apply (told_in M m n1 1 h Lw Hh1 Htold _ _ Hz).
    - intros z2 i x Hz. apply (told_in M m n1 1 h Lw Hh1 Htold _ _ Hz).
    - intros z2 v i k rw g Hz. apply Htold2. rewrite layer1_length, (P_length M m n1 1 h z2 Hz). lia.
    - intros v i r z2 Hv Hi Hr Hz.
      rewrite <- (two_is_talk M m n1 1 h b Ls Lw Hh1 Hs Htold v i r z2 Hz).
      rewrite C; try assumption; [|lia|apply table1_legal; auto; lia].
      unfold truth_w. rewrite table1_nth by exact Hi. reflexivity. }
  etransitivity; [exact B|]. rewrite prod_length.
  transitivity (2 ^ s0 * 2 ^ s1 * ((2 ^ w0) ^ n1 * ((2 ^ w0) ^ (2 * h + b - 1) * (2 ^ w1) ^ n1))).
  - repeat apply Nat.mul_le_mono; try assumption; apply Nat.pow_le_mono_l; assumption.
  - rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. apply Nat.eq_le_incl. ring.
Qed.

(** ** What a verdict says *)
Definition chk_pairs (m n1 d has h b G a q : N) : bool :=
  ((0 <? h) && (0 <? b) && (0 <? n1) && (b <=? m) && (h <=? m) && (d <=? h) && (h * (G - 1) <? n1 * (b * (h - d))) &&
   power_exceeds has G (n1 * m) a q)%N.
Theorem cannot_two_layers_pairs m n1 s0 s1 w0 w1 h b G a q :
  chk_pairs m n1 (w0 + s0) (s0 + s1 + n1 * (w0 + w1) + w0 * (2 * h + b - 1)) h b G a q = true ->
  forall M : two_layers,
  two_size M (N.to_nat m) (N.to_nat n1) (N.to_nat s0) (N.to_nat s1) (N.to_nat w0) (N.to_nat w1) ->
  errs_on_two_hops (run_two M) (N.to_nat m) (N.to_nat n1).
Proof.
  unfold chk_pairs. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le. intros [[[[[[[D1 D2] D3] D4] D5] D6] D7] D8] M HS.
  apply wrong_somewhere. intros C. apply power_exceeds_sound in D8. rewrite N2Nat.inj_mul in D8.
  apply to_nat_lt in D1, D2, D3, D7. apply to_nat_le in D4, D5, D6. rewrite N2Nat.inj_add in D6.
  rewrite !N2Nat.inj_mul, !N2Nat.inj_sub, N2Nat.inj_add in D7. change (N.to_nat 1) with 1 in D7.
  pose proof (two_layers_pairs M _ _ _ _ _ _ _ _ _ D1 D2 D3 D4 D5 D6 D7 HS C) as B.
  replace (N.to_nat (s0 + s1 + n1 * (w0 + w1) + w0 * (2 * h + b - 1)))
    with (N.to_nat s0 + N.to_nat s1 + N.to_nat n1 * (N.to_nat w0 + N.to_nat w1) + N.to_nat w0 * (2 * N.to_nat h + N.to_nat b - 1)) in D8; [lia|].
  rewrite !N2Nat.inj_add, !N2Nat.inj_mul, N2Nat.inj_sub, !N2Nat.inj_add, !N2Nat.inj_mul. reflexivity.
Qed.

(** ** Examples
    Two layers of ten bits a reply at 225 tokens; eight heads of size 128 in 32 bits, twice, at 2^28.9; two head-wise
    layers of four such heads and four linear ones of size 64, at 2^31.7. *)
Example two_layers_at_10_bits := cannot_two_layers_pairs 25 8 0 0 10 10 25 25 120 107 14 ltac:(vm_compute; reflexivity).
Example two_layers_8_128_32 := cannot_two_layers_pairs 71033 6935 0 0 33280 33280 71033 71033 261817055 231 8 ltac:(vm_compute; reflexivity).
Example head_wise_4_128_32 :=
  cannot_two_layers_pairs 1104779 3141 532480 532480 16640 16640 1104779 1104779 1745324919 412 13 ltac:(vm_compute; reflexivity).
