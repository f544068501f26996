(** One step of the induction of many_hops.v, as counting alone: of many pairs (z, rest)
    choose x functions z that together take g x values on the entries that can be asked for,
    and keep many rests that go with ALL of them.
    Greedily, one function at a time: no Jensen inequality, no probability, no logarithm. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting.

(** ** Lists *)
Lemma NoDup_app_l {A} (l l' : list A) : NoDup (l ++ l') -> NoDup l.
Proof.
  induction l as [|a l IH]; intros H; [constructor|]. inversion H; subst.
  constructor; [intros Ha; apply H2, in_app_iff; auto|auto].
Qed.
Lemma firstn_NoDup {A} k (l : list A) : NoDup l -> NoDup (firstn k l).
Proof. intros H. apply (NoDup_app_l _ (skipn k l)). rewrite firstn_skipn. exact H. Qed.
Lemma in_firstn {A} k (l : list A) a : In a (firstn k l) -> In a l.
Proof. intros H. rewrite <- (firstn_skipn k l). apply in_app_iff; auto. Qed.
Lemma length_flat_map {A B} (f : A -> list B) l :
  length (flat_map f l) = lsum (fun a => length (f a)) l.
Proof. induction l as [|a l IH]; [reflexivity|]. simpl. rewrite app_length, IH. reflexivity. Qed.
Lemma filter_or_le {X} (p q : X -> bool) (l : list X) :
  length (filter p l) <= length (filter (fun a => p a && negb (q a)) l) + length (filter q l).
Proof. induction l as [|a l IH]; simpl; [lia|]. destruct (p a), (q a); simpl; lia. Qed.
(** A word over two alphabet sizes. *)
Lemma lprod_if {A} (f : A -> bool) a b l :
  lprod (map (fun p => if f p then a else b) l)
  = a ^ length (filter f l) * b ^ length (filter (fun p => negb (f p)) l).
Proof.
  induction l as [|p l IH]; [reflexivity|]. change (lprod (map (fun p => if f p then a else b) (p :: l)))
    with ((if f p then a else b) * lprod (map (fun p => if f p then a else b) l)).
  rewrite IH. simpl. destruct (f p); simpl; ring.
Qed.

(** Half of the pairs have a rest that goes with many z. *)
Lemma heavy {A} (deg : A -> nat) a D l : (forall r, In r l -> deg r <= a) ->
  2 * D * lsum deg l <= 2 * D * a * length (filter (fun r => a <=? 2 * D * deg r) l) + a * length l.
Proof.
  induction l as [|r l IH]; intros H; [unfold lsum; simpl; lia|]. rewrite lsum_cons.
  specialize (IH (fun r' Hr => H r' (or_intror Hr))). specialize (H r (or_introl eq_refl)).
  cbn [filter]. destruct (a <=? 2 * D * deg r) eqn:E; cbn [length].
  - assert (2 * D * deg r <= 2 * D * a) by (apply Nat.mul_le_mono_l, H).
    rewrite Nat.mul_add_distr_l, !Nat.mul_succ_r. lia.
  - apply Nat.leb_gt in E. rewrite Nat.mul_add_distr_l, !Nat.mul_succ_r. lia.
Qed.

Section Rectangle.
Variables n V : nat.
Let N := n * V.
(** The values i that have been reached; entry (w, i) stands at w V + i. *)
Variable I : list nat.
Hypothesis NI : NoDup I.
Hypothesis HI : forall v, In v I -> v < V.
Hypothesis HN : 0 < N.
Definition asked (p : nat) : bool := memb (p mod V) I.
Definition entries := filter asked (seq 0 N).

Lemma V_pos : 0 < V. Proof. unfold N in HN. nia. Qed.
Lemma entries_count : n * length I <= length entries.
Proof.
  rewrite <- (seq_length n 0) at 1. rewrite <- prod_length.
  apply (pigeon (fun p => fst p * V + snd p)).
  - apply NoDup_prod; [apply seq_NoDup|exact NI].
  - intros [w v] H. apply in_prod_iff in H. destruct H as [Hw Hv]. apply in_seq in Hw. specialize (HI v Hv).
    simpl. apply filter_In. split; [apply in_seq; unfold N; nia|]. apply memb_true.
    rewrite Nat.add_comm, Nat.mod_add by lia. rewrite Nat.mod_small; assumption.
  - intros [w v] [w' v'] H H' E. apply in_prod_iff in H, H'. simpl in *.
    pose proof (HI v (proj2 H)) as Hv. pose proof (HI v' (proj2 H')) as Hv'.
    assert (v = v').
    { rewrite <- (Nat.mod_small v V), <- (Nat.mod_small v' V) by assumption.
      rewrite <- (Nat.mod_add v w V), <- (Nat.mod_add v' w' V) by lia. f_equal. lia. }
    subst v'. f_equal. nia.
Qed.
Lemma entries_le : length entries <= N.
Proof. pose proof (filter_split asked (seq 0 N)) as H. rewrite seq_length in H. unfold entries. lia. Qed.
Lemma entries_rest : length (filter (fun p => negb (asked p)) (seq 0 N)) = N - length entries.
Proof. pose proof (filter_split asked (seq 0 N)) as H. rewrite seq_length in H. unfold entries. lia. Qed.

(** New values that z brings, and the functions that bring fewer than g.  All that are brought are at most
    2^-rho of the N values there are. *)
Variables x g rho : nat.
Hypothesis Hg : 0 < g.
Hypothesis Hspace : 2 ^ rho * (g * x) <= N.
Definition news (J : list nat) (z : list nat) : list nat :=
  nodup Nat.eq_dec (filter (fun v => negb (memb v J)) (map (fun p => nth p z 0) entries)).
Definition poor (J : list nat) (z : list nat) : bool := length (news J z) <? g.
Lemma news_spec J z v : In v (news J z) <-> (exists p, In p entries /\ nth p z 0 = v) /\ ~ In v J.
Proof.
  unfold news. rewrite nodup_In, filter_In, negb_true_iff, memb_false, in_map_iff. split.
  - intros [[p [E Hp]] Hv]. split; [exists p|]; auto.
  - intros [[p [Hp E]] Hv]. split; [exists p|]; auto.
Qed.

Let A := nwords N N.
Lemma A_pos : 0 < length A.
Proof. unfold A. rewrite nwords_length. pose proof (Nat.pow_nonzero N N). lia. Qed.

Lemma poor_count J : length (filter (poor J) A)
  <= N ^ (g - 1) * ((length J + (g - 1)) ^ length entries * N ^ (N - length entries)).
Proof.
  set (al := fun K p => if asked p then J ++ K else seq 0 N).
  set (tgt := flat_map (fun K => boxes (map (al K) (seq 0 N))) (nwords (g - 1) N)).
  assert (LT : length tgt = N ^ (g - 1) * ((length J + (g - 1)) ^ length entries * N ^ (N - length entries))).
  { unfold tgt. rewrite <- (nwords_length (g - 1) N). apply length_flat_map_const.
    intros K HK. apply in_nwords in HK. destruct HK as [LK _]. rewrite boxes_length, map_map.
    rewrite <- entries_rest. unfold entries.
    rewrite <- (lprod_if asked (length J + (g - 1)) N). f_equal. apply map_ext. intros p. unfold al.
    destruct (asked p); [rewrite app_length, LK; reflexivity|apply seq_length]. }
  rewrite <- LT. apply NoDup_incl_length; [apply filter_NoDup, nwords_NoDup|].
  intros z Hz. apply filter_In in Hz. destruct Hz as [Hz Hp]. apply Nat.ltb_lt in Hp.
  apply in_flat_map. exists (news J z ++ repeat 0 (g - 1 - length (news J z))). split.
  - apply in_nwords. split; [rewrite app_length, repeat_length; lia|].
    apply Forall_app. split; apply Forall_forall; intros v Hv.
    + apply news_spec in Hv. destruct Hv as [[p [Hq <-]] _]. apply filter_In in Hq. destruct Hq as [Hq _].
      apply in_seq in Hq. apply (nwords_nth N); [exact Hz|lia].
    + apply repeat_spec in Hv. lia.
  - assert (Lz : length z = N) by (apply in_nwords in Hz; tauto).
    apply (in_boxes 0); rewrite ?map_length, ?seq_length; [exact Lz|]. intros p Hq.
    rewrite (nth_indep _ [] (al (news J z ++ repeat 0 (g - 1 - length (news J z))) 0))
      by (rewrite map_length, seq_length; exact Hq).
    rewrite map_nth, seq_nth by exact Hq. simpl. unfold al. destruct (asked p) eqn:E.
    + apply in_app_iff. destruct (in_dec Nat.eq_dec (nth p z 0) J) as [Hi|Hi]; [auto|right].
      apply in_app_iff; left. apply news_spec. split; [|exact Hi]. exists p. split; [|reflexivity].
      apply filter_In. split; [apply in_seq; lia|exact E].
    + apply in_seq. pose proof (nwords_nth N N z p Hz Hq). lia.
Qed.

(** delta bits are lost so far; N has at most lam bits. *)
Variables delta lam : nat.
Hypothesis Hlam : N <= 2 ^ lam.
Hypothesis Hcover : delta + 2 + lam * (g - 1) <= rho * (n * length I).

Lemma poor_few J : length J + g <= g * x -> 2 ^ (delta + 2) * length (filter (poor J) A) <= length A.
Proof.
  intros HJ. etransitivity; [apply Nat.mul_le_mono_l, poor_count|].
  unfold A. rewrite nwords_length. pose proof entries_le as Le. pose proof entries_count as Lc.
  set (q := length entries) in *.
  replace (N ^ N) with (N ^ q * N ^ (N - q)) by (rewrite <- Nat.pow_add_r; f_equal; lia).
  rewrite !Nat.mul_assoc. apply Nat.mul_le_mono_r.
  transitivity ((2 ^ rho) ^ q * (g * x) ^ q); [|rewrite <- Nat.pow_mul_l; apply Nat.pow_le_mono_l, Hspace].
  apply Nat.mul_le_mono; [|apply Nat.pow_le_mono_l; lia].
  transitivity (2 ^ (delta + 2) * (2 ^ lam) ^ (g - 1));
    [apply Nat.mul_le_mono_l, Nat.pow_le_mono_l, Hlam|].
  rewrite <- !Nat.pow_mul_r, <- Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|].
  etransitivity; [exact Hcover|]. apply Nat.mul_le_mono_l, Lc.
Qed.

Section Greedy.
Context {Y : Type}.
Variables (B : list Y) (NB : NoDup B) (Rel : list nat -> Y -> bool).
Let deg r := length (filter (fun z => Rel z r) A).
Hypothesis HB : 0 < length B.
Hypothesis dense : length A * length B <= 2 ^ delta * lsum deg B.

Lemma heavy_rests : exists S, NoDup S /\ incl S B /\ length B <= 2 ^ (delta + 1) * length S /\
  forall r, In r S -> length A <= 2 ^ (delta + 1) * deg r.
Proof.
  set (D := 2 ^ delta) in *. assert (E : 2 ^ (delta + 1) = 2 * D).
  { rewrite Nat.add_1_r. apply Nat.pow_succ_r'. }
  exists (filter (fun r => length A <=? 2 * D * deg r) B). repeat split.
  - apply filter_NoDup, NB.
  - intros r Hr. apply filter_In in Hr. tauto.
  - pose proof (heavy deg (length A) D B) as Hh.
    assert (Hd : forall r, In r B -> deg r <= length A).
    { intros r _. unfold deg. rewrite (filter_split (fun z => Rel z r) A). lia. }
    specialize (Hh Hd). rewrite E. pose proof A_pos.
    apply (Nat.mul_le_mono_pos_l _ _ (length A)); [assumption|].
    set (S := length (filter _ B)) in *. nia.
  - intros r Hr. apply filter_In in Hr. destruct Hr as [_ Hr]. apply Nat.leb_le in Hr. rewrite E. exact Hr.
Qed.

(** t functions, g t values, and of the rests a 2^-(delta + 2) for each. *)
Lemma greedy S0 : NoDup S0 -> 0 < length S0 -> (forall r, In r S0 -> length A <= 2 ^ (delta + 1) * deg r) ->
  forall t, t <= x -> exists Z J S,
    length Z = t /\ length J = g * t /\ NoDup J /\ incl Z A /\
    (forall v, In v J -> exists z p, In z Z /\ In p entries /\ nth p z 0 = v) /\
    NoDup S /\ incl S S0 /\ length S0 <= 2 ^ ((delta + 2) * t) * length S /\
    (forall z r, In z Z -> In r S -> Rel z r = true).
Proof.
  intros HN0 P0 Hdeg. induction t as [|t IH]; intros Ht.
  - exists [], [], S0. rewrite !Nat.mul_0_r. simpl.
    split; [reflexivity|]. split; [reflexivity|]. split; [constructor|].
    split; [intros z []|]. split; [intros v []|]. split; [assumption|].
    split; [apply incl_refl|]. split; [lia|]. intros z r [].
  - destruct IH as [Z [J [S [LZ [LJ [NJ [HZ [HJ [NS [IS [LS HR]]]]]]]]]]]; [lia|].
    set (R := fun z r => Rel z r && negb (poor J z)).
    destruct (averaging R A S (2 ^ (delta + 2)) A_pos) as [z [Hz Hav]].
    { intros r Hr. specialize (Hdeg r (IS r Hr)).
      assert (E1 : deg r <= length (filter (fun z => R z r) A) + length (filter (poor J) A))
        by apply filter_or_le.
      assert (E2 : 2 ^ (delta + 2) * length (filter (poor J) A) <= length A) by (apply poor_few; nia).
      replace (delta + 2) with (Datatypes.S (delta + 1)) in * by lia. rewrite Nat.pow_succ_r' in *.
      set (a := length (filter (fun z => R z r) A)) in *.
      set (b := length (filter (poor J) A)) in *. set (D := 2 ^ (delta + 1)) in *. nia. }
    set (S' := filter (R z) S) in *.
    assert (PS : 0 < length S) by (destruct (length S); lia).
    assert (PS' : exists r, In r S') by (destruct S' as [|r ?]; [simpl in Hav; lia|exists r; simpl; auto]).
    destruct PS' as [r0 Hr0]. apply filter_In in Hr0. destruct Hr0 as [_ Hr0]. unfold R in Hr0.
    apply andb_true_iff in Hr0. destruct Hr0 as [_ Hr0]. apply negb_true_iff, Nat.ltb_ge in Hr0.
    exists (z :: Z), (firstn g (news J z) ++ J), S'. simpl length.
    split; [lia|]. split; [rewrite app_length, firstn_length; lia|]. split.
    { apply NoDup_app_intro; [apply firstn_NoDup, NoDup_nodup|assumption|].
      intros v Hv. apply in_firstn, news_spec in Hv. tauto. }
    split; [intros y [<-|Hy]; auto|]. split.
    { intros v Hv. apply in_app_iff in Hv. destruct Hv as [Hv|Hv].
      - apply in_firstn, news_spec in Hv. destruct Hv as [[p [Hp E]] _]. exists z, p. simpl; auto.
      - destruct (HJ v Hv) as [y [p [H1 [H2 H3]]]]. exists y, p. simpl; auto. }
    split; [apply filter_NoDup; assumption|].
    split; [intros r Hr; apply filter_In in Hr; apply IS; tauto|]. split.
    + etransitivity; [exact LS|]. rewrite Nat.mul_succ_r, Nat.pow_add_r, <- Nat.mul_assoc.
      apply Nat.mul_le_mono_l. exact Hav.
    + intros y r [<-|Hy] Hr; apply filter_In in Hr; destruct Hr as [Hr HRr]; [|auto].
      unfold R in HRr. apply andb_true_iff in HRr. tauto.
Qed.

Theorem rectangle : exists Z J S,
    length Z = x /\ length J = g * x /\ NoDup J /\ incl Z A /\
    (forall v, In v J -> exists z p, In z Z /\ In p entries /\ nth p z 0 = v) /\
    NoDup S /\ incl S B /\ length B <= 2 ^ (delta + 1 + (delta + 2) * x) * length S /\
    (forall z r, In z Z -> In r S -> Rel z r = true).
Proof.
  destruct heavy_rests as [S0 [NS0 [IS0 [LS0 Hdeg]]]].
  assert (P0 : 0 < length S0) by (destruct (length S0); lia).
  destruct (greedy S0 NS0 P0 Hdeg x (le_n x)) as [Z [J [S [H1 [H2 [H3 [H4 [H5 [H6 [H7 [H8 H9]]]]]]]]]]].
  exists Z, J, S. repeat (split; [assumption|]). split; [intros r Hr; apply IS0, H7, Hr|].
  split; [|assumption]. etransitivity; [exact LS0|]. rewrite (Nat.pow_add_r 2 (delta + 1)), <- Nat.mul_assoc.
  apply Nat.mul_le_mono_l. exact H8.
Qed.
End Greedy.
End Rectangle.
