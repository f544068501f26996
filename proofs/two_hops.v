(** Composition of two hops by any number of linear layers around ONE full layer, as a
    conversation.  Token order z_2, z_1, z_0, w; the answer is z_2(w, z_1(z_0)).
    The rectangle of the proof is chosen greedily, so that no Jensen inequality, no
    probability and no logarithm is needed. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state.

Section Comp2.
Variables m n1 : nat.
Let N := n1 * m.

(** ** The conversation
    sig2 z2: states of all linear layers before F at the boundary z_2 | z_1;
    lin1 z1 s: the same at the boundary z_1 | z_0 (a function of z_1 and sig2 only);
    tau1 z1 z2: states of all linear layers after F at the boundary z_1 | z_0;
    reply z2 q: partial sums over the tokens of z_2 for the query q (all heads);
    q0, qm: queries of z_0 and of w;
    out: everything else (all computation of players 1, 0, -1). *)
Variables Query Sg Ta Re : Type.
Variable sig2 : list nat -> Sg.
Variable tau1 : list nat -> list nat -> Ta.
Variable lin1 : list nat -> Sg -> nat.
Variable reply : list nat -> Query -> Re.
Variable q0 : nat -> nat -> Query.
Variable qm : nat -> nat -> nat -> Query.
Variable out : nat -> nat -> list nat -> Sg -> Ta -> Re -> Re -> nat.

Definition ans (w z0 : nat) (z1 z2 : list nat) : nat :=
  let s := sig2 z2 in let c := lin1 z1 s in
  out w z0 z1 s (tau1 z1 z2) (reply z2 (q0 z0 c)) (reply z2 (qm w z0 c)).

Definition truth (w z0 : nat) (z1 z2 : list nat) : nat := nth (w * m + nth z0 z1 0) z2 0.

Definition correct : Prop :=
  forall w z0 z1 z2, w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
    ans w z0 z1 z2 = truth w z0 z1 z2.

Variable K1 : nat.
Variables (Ls : list Sg) (Lt : list Ta) (Lb : list Re).
Let Ks := length Ls.
Let Kt := length Lt.
Let Kb := length Lb.
Hypothesis Hlin1 : forall z1 s, lin1 z1 s < K1.
(** only for legal inputs z2 *)
Hypothesis Hsig2 : forall z2, In z2 (nwords N N) -> In (sig2 z2) Ls.
Hypothesis Htau1 : forall z1 z2, In z1 (nwords m m) -> In z2 (nwords N N) -> In (tau1 z1 z2) Lt.
Hypothesis Hreply : forall z2 q, In z2 (nwords N N) -> In (reply z2 q) Lb.

(** x0 values of z_0, x1 functions z_1, each bringing g new points. *)
Variables x0 x1 g : nat.
Let Th := g * x1.
Hypothesis Hg : 0 < g.
Hypothesis Hm : 0 < m.
Hypothesis Hn1 : 0 < n1.
Hypothesis Hx0 : x0 <= m.
Hypothesis Hcover : 2 * K1 * (m ^ (g - 1) * Th ^ x0) <= m ^ x0.

Let A := nwords m m.
Let B := nwords N N.
Definition sg (z1 z2 : list nat) := lin1 z1 (sig2 z2).

(** new points brought by z_1, and the functions which bring fewer than g *)
Definition news (I : list nat) (z1 : list nat) : list nat :=
  nodup Nat.eq_dec (filter (fun v => negb (memb v I)) (firstn x0 z1)).
Definition bad (I : list nat) (z1 : list nat) : bool := length (news I z1) <? g.

Lemma news_spec I z1 v : In v (news I z1) <-> In v (firstn x0 z1) /\ ~ In v I.
Proof.
  unfold news. rewrite nodup_In, filter_In, negb_true_iff, memb_false. tauto.
Qed.

Lemma bad_count I : length (filter (bad I) A)
  <= m ^ (g - 1) * ((length I + (g - 1)) ^ x0 * m ^ (m - x0)).
Proof.
  set (tgt := flat_map (fun J => map (fun p => fst p ++ snd p)
                 (list_prod (words x0 (I ++ J)) (nwords (m - x0) m))) (nwords (g - 1) m)).
  assert (LT : length tgt = m ^ (g - 1) * ((length I + (g - 1)) ^ x0 * m ^ (m - x0))).
  { unfold tgt. rewrite <- (nwords_length (g - 1) m). apply length_flat_map_const.
    intros J HJ. apply in_nwords in HJ. destruct HJ as [LJ _].
    rewrite map_length, prod_length, words_length, nwords_length, app_length, LJ. reflexivity. }
  rewrite <- LT. apply NoDup_incl_length; [apply filter_NoDup, nwords_NoDup|].
  intros z1 Hz. apply filter_In in Hz. destruct Hz as [Hz Hb].
  apply in_nwords in Hz. destruct Hz as [L F]. apply Nat.ltb_lt in Hb.
  rewrite <- (firstn_skipn x0 z1) in F. apply Forall_app in F. destruct F as [F1 F2].
  rewrite Forall_forall in F1.
  apply in_flat_map. exists (news I z1 ++ repeat 0 (g - 1 - length (news I z1))). split.
  - apply in_nwords. split; [rewrite app_length, repeat_length; lia|].
    apply Forall_app. split; apply Forall_forall; intros v Hv.
    + apply F1. apply news_spec in Hv. tauto.
    + apply repeat_spec in Hv. lia.
  - apply in_map_iff. exists (firstn x0 z1, skipn x0 z1). split; [apply firstn_skipn|].
    apply in_prod.
    + apply in_words. split; [rewrite firstn_length; lia|]. apply Forall_forall. intros v Hv.
      apply in_app_iff. destruct (in_dec Nat.eq_dec v I); [auto|right].
      apply in_app_iff; left. apply news_spec; auto.
    + apply in_nwords. split; [rewrite skipn_length; lia|assumption].
Qed.

Lemma A_pos : 0 < length A.
Proof. unfold A. rewrite nwords_length. pose proof (Nat.pow_nonzero m m). lia. Qed.
Lemma N_pos : 0 < N. Proof. unfold N. nia. Qed.
Lemma B_pos : 0 < length B.
Proof. unfold B. rewrite nwords_length. pose proof N_pos. pose proof (Nat.pow_nonzero N N). lia. Qed.
Lemma K1_pos : 0 < K1.
Proof. pose proof (Hlin1 [] (sig2 [])). lia. Qed.

(** Most popular boundary state. *)
Lemma start : exists c S, NoDup S /\ incl S B /\ length B <= K1 * length S /\
  forall z2, In z2 S -> length A <= K1 * length (filter (fun z1 => sg z1 z2 =? c) A).
Proof.
  destruct (popular_rel
    (fun z2 c => length A <=? K1 * length (filter (fun z1 => sg z1 z2 =? c) A)) K1 B K1_pos)
    as [c [Hc HL]].
  { intros z2 _. destruct (popular (fun z1 => sg z1 z2) K1 A) as [c [Hc HL]].
    - intros; apply Hlin1.
    - apply K1_pos.
    - exists c; split; [assumption|]. apply Nat.leb_le. exact HL. }
  exists c, (filter (fun z2 => length A <=? K1 * length (filter (fun z1 => sg z1 z2 =? c) A)) B).
  repeat split.
  - apply filter_NoDup, nwords_NoDup.
  - intros z Hz. apply filter_In in Hz. tauto.
  - exact HL.
  - intros z2 Hz. apply filter_In in Hz. destruct Hz as [_ Hz]. apply Nat.leb_le in Hz. exact Hz.
Qed.

Lemma filter_or_le {X} (p q : X -> bool) (l : list X) :
  length (filter p l) <= length (filter (fun a => p a && negb (q a)) l) + length (filter q l).
Proof.
  induction l as [|a l IHl]; simpl; [lia|]. destruct (p a), (q a); simpl; lia.
Qed.

(** Greedy rectangle: t functions z_1, covering t points, keeping a
    (2 K1)^-t fraction of the z_2. *)
Lemma greedy c S0 : NoDup S0 -> incl S0 B -> length B <= K1 * length S0 ->
  (forall z2, In z2 S0 -> length A <= K1 * length (filter (fun z1 => sg z1 z2 =? c) A)) ->
  forall t, t <= x1 -> exists Z I S,
    length Z = t /\ length I = g * t /\ NoDup I /\
    incl Z A /\
    (forall v, In v I -> v < m /\ exists z1 z0, In z1 Z /\ z0 < x0 /\ nth z0 z1 0 = v) /\
    NoDup S /\ incl S S0 /\ length B <= K1 * (2 * K1) ^ t * length S /\
    (forall z1 z2, In z1 Z -> In z2 S -> sg z1 z2 = c).
Proof.
  intros HN HB HL Hdeg. induction t as [|t IH]; intros Ht.
  - exists [], [], S0. simpl.
    split; [reflexivity|]. split; [simpl; lia|]. split; [apply NoDup_nil|].
    split; [intros x []|]. split; [intros x []|]. split; [assumption|].
    split; [apply incl_refl|]. split; [lia|]. intros ? ? [].
  - destruct IH as [Z [I [S [LZ [LI [NI [HZ [HI [NS [IS [LS Hc]]]]]]]]]]]; [lia|].
    set (R := fun z1 z2 => (sg z1 z2 =? c) && negb (bad I z1)).
    destruct (averaging R A S (2 * K1) A_pos) as [z1 [Hz1 Hav]].
    { intros z2 Hz2. specialize (Hdeg z2 (IS z2 Hz2)).
      assert (E1 : length (filter (fun z1 => sg z1 z2 =? c) A)
                   <= length (filter (fun z1 => R z1 z2) A) + length (filter (bad I) A)).
      { unfold R. apply filter_or_le. }
      assert (E2 : 2 * K1 * length (filter (bad I) A) <= length A).
      { etransitivity; [apply Nat.mul_le_mono_l, bad_count|].
        unfold A. rewrite nwords_length.
        replace (m ^ m) with (m ^ x0 * m ^ (m - x0)) by (rewrite <- Nat.pow_add_r; f_equal; lia).
        rewrite !Nat.mul_assoc. apply Nat.mul_le_mono_r.
        etransitivity; [|exact Hcover]. rewrite <- Nat.mul_assoc.
        apply Nat.mul_le_mono_l, Nat.mul_le_mono_l, Nat.pow_le_mono_l. unfold Th. nia. }
      set (gg := length (filter (fun z1 => R z1 z2) A)) in *.
      set (d := length (filter (fun z1 => sg z1 z2 =? c) A)) in *.
      set (b := length (filter (bad I) A)) in *. nia. }
    set (S' := filter (R z1) S) in *.
    assert (PS : 0 < length S) by (pose proof B_pos; destruct (length S); lia).
    assert (PS' : exists z2, In z2 S').
    { destruct S' as [|z2 ?]; [simpl in Hav; lia|]. exists z2; simpl; auto. }
    destruct PS' as [z2 Hz2]. apply filter_In in Hz2. destruct Hz2 as [_ HR].
    unfold R in HR. apply andb_true_iff in HR. destruct HR as [_ HR]. apply negb_true_iff in HR.
    apply Nat.ltb_ge in HR.
    assert (HF : forall v, In v (firstn g (news I z1)) -> In v (news I z1)).
    { intros v Hv. rewrite <- (firstn_skipn g (news I z1)). apply in_app_iff; auto. }
    exists (z1 :: Z), (firstn g (news I z1) ++ I), S'. simpl length.
    split; [lia|]. split; [rewrite app_length, firstn_length; lia|]. split; [|split].
    { apply NoDup_app_intro; [|assumption|].
      - pose proof (NoDup_nodup Nat.eq_dec (filter (fun v => negb (memb v I)) (firstn x0 z1))) as ND.
        fold (news I z1) in ND. rewrite <- (firstn_skipn g (news I z1)) in ND.
        revert ND. generalize (firstn g (news I z1)), (skipn g (news I z1)). clear.
        induction l as [|a l IHl]; intros l' H; [constructor|]. inversion H; subst.
        constructor; [intros Ha; apply H2, in_app_iff; auto|eapply IHl; eassumption].
      - intros v Hv. apply HF, news_spec in Hv. tauto. }
    { intros x [<-|Hx]; auto. }
    split; [|split; [|split; [|split]]].
    + intros v Hv. apply in_app_iff in Hv. destruct Hv as [Hv|Hi].
      * apply HF, news_spec in Hv. destruct Hv as [Hv _].
        apply (In_nth _ _ 0) in Hv. destruct Hv as [z0 [Hz0 Ev]]. rewrite firstn_length in Hz0.
        assert (Ez : nth z0 z1 0 = v).
        { rewrite <- Ev. rewrite <- (firstn_skipn x0 z1) at 1. apply app_nth1. rewrite firstn_length. lia. }
        split; [rewrite <- Ez; apply (nwords_nth m); [exact Hz1|lia]|].
        exists z1, z0. simpl. repeat split; auto. lia.
      * destruct (HI v Hi) as [Hvm [y1 [y0 [H1 [H2 H3]]]]]. split; [assumption|].
        exists y1, y0. simpl. auto.
    + apply filter_NoDup; assumption.
    + intros x Hx. apply filter_In in Hx. apply IS; tauto.
    + etransitivity; [exact LS|]. rewrite Nat.pow_succ_r'.
      replace (K1 * ((2 * K1) * (2 * K1) ^ t) * length S')
        with (K1 * (2 * K1) ^ t * (2 * K1 * length S')) by ring.
      apply Nat.mul_le_mono_l. exact Hav.
    + intros y1 y2 [<-|H1] H2; apply filter_In in H2; destruct H2 as [H2 HR2].
      * unfold R in HR2. apply andb_true_iff in HR2. apply Nat.eqb_eq; tauto.
      * apply Hc; assumption.
Qed.

Section Final.
Variables (c : nat) (Z : list (list nat)) (I : list nat) (S : list (list nat)).
Hypothesis LZ : length Z = x1.
Hypothesis LI : length I = Th.
Hypothesis NI : NoDup I.
Hypothesis HZ : incl Z A.
Hypothesis HI : forall v, In v I -> v < m /\ exists z1 z0, In z1 Z /\ z0 < x0 /\ nth z0 z1 0 = v.
Hypothesis NS : NoDup S.
Hypothesis IS : incl S B.
Hypothesis Hc : forall z1 z2, In z1 Z -> In z2 S -> sg z1 z2 = c.
Hypothesis Hcorrect : correct.

Definition reach (i : nat) : bool := memb (i mod m) I.
Definition U := filter (fun i => negb (reach i)) (seq 0 N).

Lemma reach_count : n1 * Th + length U <= N.
Proof.
  assert (E : N = length (filter reach (seq 0 N)) + length U).
  { unfold U. rewrite <- filter_split. symmetry; apply seq_length. }
  assert (L : n1 * Th <= length (filter reach (seq 0 N))); [|lia].
  rewrite <- LI. rewrite <- (seq_length n1 0) at 1. rewrite <- prod_length.
  apply (pigeon (fun p => fst p * m + snd p)).
  - apply NoDup_prod; [apply seq_NoDup|assumption].
  - intros [w v] H. apply in_prod_iff in H. destruct H as [Hw Hv]. apply in_seq in Hw.
    destruct (HI v Hv) as [Hvm _]. simpl. apply filter_In. split.
    + apply in_seq. unfold N. nia.
    + apply memb_true. rewrite Nat.add_comm, Nat.mod_add by lia. rewrite Nat.mod_small; assumption.
  - intros [w v] [w' v'] H H' E0. apply in_prod_iff in H, H'.
    destruct (HI v (proj2 H)) as [Hv _]. destruct (HI v' (proj2 H')) as [Hv' _]. simpl in E0.
    assert (v = v').
    { rewrite <- (Nat.mod_small v m), <- (Nat.mod_small v' m) by assumption.
      rewrite <- (Nat.mod_add v w m), <- (Nat.mod_add v' w' m) by lia. f_equal. lia. }
    subst v'. f_equal. nia.
Qed.

Definition rm z2 := map (fun p => reply z2 (qm (fst p) (snd p) c)) (list_prod (seq 0 n1) (seq 0 x0)).
Definition r0 z2 := map (fun z0 => reply z2 (q0 z0 c)) (seq 0 x0).
Definition t1 z2 := map (fun z1 => tau1 z1 z2) Z.
Definition rest z2 := map (fun i => nth i z2 0) U.
Definition tr z2 := (sig2 z2, (t1 z2, (rm z2, (r0 z2, rest z2)))).

Lemma map_in_nwords {X} (f : X -> nat) (l : list X) V k :
  length l = k -> (forall x, In x l -> f x < V) -> In (map f l) (nwords k V).
Proof.
  intros L H. apply in_nwords. rewrite map_length. split; [assumption|].
  apply Forall_forall. intros y Hy. apply in_map_iff in Hy. destruct Hy as [x [<- Hx]]. auto.
Qed.

Lemma map_in_words {X Y} (f : X -> Y) (l : list X) al k :
  length l = k -> (forall x, In x l -> In (f x) al) -> In (map f l) (words k al).
Proof.
  intros L H. apply in_words. rewrite map_length. split; [assumption|].
  apply Forall_forall. intros y Hy. apply in_map_iff in Hy. destruct Hy as [x [<- Hx]]. auto.
Qed.

Lemma final_count :
  length S <= Ks * (Kt ^ x1 * (Kb ^ (n1 * x0) * (Kb ^ x0 * N ^ length U))).
Proof.
  replace (Ks * _) with (length (list_prod Ls (list_prod (words x1 Lt)
    (list_prod (words (n1 * x0) Lb) (list_prod (words x0 Lb) (nwords (length U) N))))))
    by (rewrite !prod_length, nwords_length, !words_length; reflexivity).
  apply (pigeon tr); [assumption| |].
  - intros z2 Hz. unfold tr. repeat apply in_prod.
    + apply Hsig2, IS, Hz.
    + apply map_in_words; [exact LZ|]. intros z1 H1. apply Htau1; [apply HZ, H1|apply IS, Hz].
    + apply map_in_words; [rewrite prod_length, !seq_length; reflexivity|intros; apply Hreply, IS, Hz].
    + apply map_in_words; [apply seq_length|intros; apply Hreply, IS, Hz].
    + apply map_in_nwords; [reflexivity|]. intros i Hi. apply filter_In in Hi.
      destruct Hi as [Hi _]. apply in_seq in Hi. apply (nwords_nth N); [apply IS, Hz|lia].
  - intros y z Hy Hz E. unfold tr in E. injection E. intros Erest E0 Em Et Es. clear E.
    pose proof (IS y Hy) as By. pose proof (IS z Hz) as Bz.
    assert (Ly : length y = N) by (apply in_nwords in By; tauto).
    assert (Lz : length z = N) by (apply in_nwords in Bz; tauto).
    apply (nth_ext_on 0 y z N); auto. intros i Hi.
    destruct (reach i) eqn:Ri.
    + apply memb_true in Ri. destruct (HI _ Ri) as [_ [z1 [z0 [H1 [H2 H3]]]]].
      assert (Hw : i / m < n1) by (apply Nat.div_lt_upper_bound; [lia|]; unfold N in Hi; lia).
      pose proof (Hcorrect (i / m) z0 z1 y Hw ltac:(lia) (HZ _ H1) By) as Cy.
      pose proof (Hcorrect (i / m) z0 z1 z Hw ltac:(lia) (HZ _ H1) Bz) as Cz.
      unfold truth in Cy, Cz. rewrite H3 in Cy, Cz.
      replace (i / m * m + i mod m) with i in Cy, Cz by (rewrite (Nat.div_mod i m) at 1; lia).
      rewrite <- Cy, <- Cz. unfold ans.
      pose proof (Hc z1 y H1 Hy) as Sy. pose proof (Hc z1 z H1 Hz) as Sz. unfold sg in Sy, Sz.
      assert (Gt : tau1 z1 y = tau1 z1 z) by (apply (ext_in_map Et); exact H1).
      rewrite Sy, Sz, Es, Gt.
      assert (G0 : reply y (q0 z0 c) = reply z (q0 z0 c)).
      { apply (ext_in_map E0). apply in_seq; lia. }
      assert (Gm : reply y (qm (i / m) z0 c) = reply z (qm (i / m) z0 c)).
      { apply (ext_in_map Em (i / m, z0)). apply in_prod; apply in_seq; lia. }
      rewrite G0, Gm. reflexivity.
    + apply (ext_in_map Erest). apply filter_In. split; [apply in_seq; lia|]. rewrite Ri. reflexivity.
Qed.
End Final.

Theorem composition_hybrid_2 : correct ->
  N ^ (n1 * (g * x1)) <= K1 * (2 * K1) ^ x1 * (Ks * Kt ^ x1 * Kb ^ (n1 * x0 + x0)).
Proof.
  intros HC. destruct start as [c [S0 [NS0 [IS0 [LS0 Hdeg]]]]].
  destruct (greedy c S0 NS0 IS0 LS0 Hdeg x1 (le_n x1))
    as [Z [I [S [LZ [LI [NI [HZ [HI [NS [IS [LS Hc]]]]]]]]]]].
  assert (ISB : incl S B) by (intros x Hx; apply IS0, IS, Hx).
  pose proof (final_count c Z I S LZ LI HZ HI NS ISB Hc HC) as F.
  pose proof (reach_count Z I LZ LI NI HI) as RC.
  set (u := length (U I)) in *.
  assert (LB : length B = N ^ N) by apply nwords_length.
  assert (P : N ^ u <> 0) by (apply Nat.pow_nonzero; pose proof N_pos; lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N ^ u)); [lia|].
  rewrite <- Nat.pow_add_r.
  transitivity (N ^ N); [apply Nat.pow_le_mono_r; [pose proof N_pos; lia|exact RC]|].
  rewrite <- LB. etransitivity; [exact LS|]. rewrite <- (Nat.mul_assoc _ _ (N ^ u)).
  apply Nat.mul_le_mono_l. etransitivity; [exact F|].
  rewrite !Nat.pow_add_r. apply Nat.eq_le_incl. ring.
Qed.

(** Witness form: below the threshold some input is answered wrongly. *)
Theorem composition_hybrid_2_errs :
  K1 * (2 * K1) ^ x1 * (Ks * Kt ^ x1 * Kb ^ (n1 * x0 + x0)) < N ^ (n1 * (g * x1)) ->
  exists w z0 z1 z2, w < n1 /\ z0 < m /\ In z1 (nwords m m) /\ In z2 (nwords N N) /\
    ans w z0 z1 z2 <> truth w z0 z1 z2.
Proof.
  intros H.
  set (dom := list_prod (list_prod (seq 0 n1) (seq 0 m)) (list_prod A B)).
  destruct (forallb (fun x => ans (fst (fst x)) (snd (fst x)) (fst (snd x)) (snd (snd x))
                    =? truth (fst (fst x)) (snd (fst x)) (fst (snd x)) (snd (snd x))) dom) eqn:E.
  - exfalso. rewrite forallb_forall in E.
    assert (C : correct).
    { intros w z0 z1 z2 H1 H2 H3 H4. apply Nat.eqb_eq.
      apply (E ((w, z0), (z1, z2))). unfold dom. repeat apply in_prod; auto; apply in_seq; lia. }
    pose proof (composition_hybrid_2 C). lia.
  - apply forallb_false in E. destruct E as [[[w z0] [z1 z2]] [Hd E]]. simpl in E.
    unfold dom in Hd. rewrite !in_prod_iff, !in_seq in Hd.
    exists w, z0, z1, z2. apply Nat.eqb_neq in E. repeat split; auto; try tauto; lia.
Qed.
End Comp2.
