(** Composition of two hops, each w by itself (route each_w of theorems/composition_depth/inequality.py).
    Token order z_2, z_1, z_0, w; the answer is z_2(w, z_1(z_0)).  What w asks at level 1
    depends on w, z_0 and what it was told at level 0.  This covers, as other files show,
    - linear layers and then one full layer,
    - two full layers, each with linear heads beside it or not,
    - one full layer, with linear heads beside it or not, and one step of thought.

    Of z_1 only E = y*h entries vary: those of group c = i/h take the values c*b .. c*b+b-1.
    For each w let G_w be the largest class of such z_1 that look alike to w at level 0.
    The class has lost few bits, so in each group there is an entry that still takes many
    values; taking these entries as z_0, w's question at level 1 depends on w and the group
    alone, and z_2 answers few questions about many entries. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting.

Section EachW.
Variables m n1 y h b : nat.
Let N := n1 * m.
Let E := y * h.
Hypothesis Hh : 0 < h.
Hypothesis Hy : 0 < y.
Hypothesis Hb : 0 < b.
Hypothesis Hyb : y * b <= m.

(** The entry i of z_1, given the list r of choices below b. *)
Definition value (i x : nat) : nat := i / h * b + x.
Definition truth_w (w z0 : nat) (r z2 : list nat) : nat := nth (w * m + value z0 (nth z0 r 0)) z2 0.

(** ** The conversation
    sg z2: all states at the boundary z_2 | z_1;
    tell_w z2 w, tell_0 z2 z0, tell_1 z2 i x: what z_2 tells, at level 0, w, the token z_0, and
      the entry i of z_1 if it has its x-th value;
    know w r s: what w learns, at level 0, of z_1 (replies of z_1 and states);
    tell_q z2 w z0 k r s: what z_2 tells w at level 1, where the query is a function of w, z_0
      and all that w knows; out: everything else. *)
Variables Sg Rw Rb Rq : Type.
Variable Sg_dec : forall a c : Sg, {a = c} + {a <> c}.
Variable sg : list nat -> Sg.
Variable tell_w : list nat -> nat -> Rw.
Variable tell_0 : list nat -> nat -> Rb.
Variable tell_1 : list nat -> nat -> nat -> Rb.
Variable know : nat -> list nat -> Sg -> nat.
Variable tell_q : list nat -> nat -> nat -> nat -> Rw -> Sg -> Rq.
Variable out : nat -> nat -> list nat -> Sg -> Rw -> Rb -> list Rb -> Rq -> nat.

Definition ans_w (w z0 : nat) (r z2 : list nat) : nat :=
  let s := sg z2 in let rw := tell_w z2 w in
  out w z0 r s rw (tell_0 z2 z0) (map (fun i => tell_1 z2 i (nth i r 0)) (seq 0 E))
      (tell_q z2 w z0 (know w r s) rw s).
Definition correct_w : Prop :=
  forall w z0 r z2, w < n1 -> z0 < E -> In r (nwords E b) -> In z2 (nwords N N) ->
    ans_w w z0 r z2 = truth_w w z0 r z2.

Variable K : nat.
Variables (Ls : list Sg) (Lw : list Rw) (Lb : list Rb) (Lq : list Rq).
Hypothesis Hsg : forall z2, In z2 (nwords N N) -> In (sg z2) Ls.
Hypothesis Hknow : forall w r s, know w r s < K.
Hypothesis Hw : forall z2 w, In z2 (nwords N N) -> In (tell_w z2 w) Lw.
Hypothesis H0 : forall z2 z0, In z2 (nwords N N) -> In (tell_0 z2 z0) Lb.
Hypothesis H1 : forall z2 i x, In z2 (nwords N N) -> In (tell_1 z2 i x) Lb.
Hypothesis Hq : forall z2 w z0 k r s, In z2 (nwords N N) -> In (tell_q z2 w z0 k r s) Lq.

Let B := nwords N N.
Let R := nwords E b.

(** ** The class of one w, and the values that its entries keep *)
Section Class.
Variables (w : nat) (s : Sg).
Definition class (c : nat) : list (list nat) := filter (fun r => know w r s =? c) R.
Definition kept (c i : nat) : list nat := nodup Nat.eq_dec (map (fun r => nth i r 0) (class c)).

Lemma kept_spec c i x : In x (kept c i) <-> exists r, In r R /\ know w r s = c /\ nth i r 0 = x.
Proof.
  unfold kept, class. rewrite nodup_In, in_map_iff. split.
  - intros [r [Ex Hr]]. apply filter_In in Hr. destruct Hr as [Hr Hk]. apply Nat.eqb_eq in Hk. eauto.
  - intros [r [Hr [Hk Ex]]]. exists r. split; [exact Ex|]. apply filter_In. split; [exact Hr|].
    apply Nat.eqb_eq, Hk.
Qed.

(** No more members than combinations of values. *)
Lemma class_in_box c : length (class c) <= lprod (map (fun i => length (kept c i)) (seq 0 E)).
Proof.
  rewrite <- (map_map (kept c) (@length nat)), <- boxes_length.
  apply NoDup_incl_length; [apply filter_NoDup, nwords_NoDup|]. intros r Hr.
  pose proof Hr as Hr'. apply filter_In in Hr'. destruct Hr' as [Hr' Hk]. apply Nat.eqb_eq in Hk.
  apply (in_boxes 0).
  - rewrite map_length, seq_length. apply in_nwords in Hr'. tauto.
  - rewrite map_length, seq_length. intros i Hi. rewrite (nth_indep _ [] (kept c 0))
      by (rewrite map_length, seq_length; exact Hi).
    rewrite map_nth, seq_nth by exact Hi. apply kept_spec. eauto.
Qed.

(** The best entry of a group of h. *)
Lemma best_of (f : nat -> nat) g : forall k, 0 < k ->
  exists i, g <= i < g + k /\ lprod (map f (seq g k)) <= f i ^ k.
Proof.
  revert g. assert (G : forall k g, exists i, g <= i < g + S k /\ lprod (map f (seq g (S k))) <= f i ^ S k).
  { induction k as [|k IH]; intros g.
    - exists g. simpl. split; lia.
    - destruct (IH (S g)) as [i [Hi Hp]].
      change (lprod (map f (seq g (S (S k))))) with (f g * lprod (map f (seq (S g) (S k)))).
      destruct (le_lt_dec (f g) (f i)) as [L|L].
      + exists i. split; [lia|]. rewrite (Nat.pow_succ_r' (f i) (S k)). apply Nat.mul_le_mono; assumption.
      + exists g. split; [lia|]. rewrite (Nat.pow_succ_r' (f g) (S k)). apply Nat.mul_le_mono_l.
        etransitivity; [exact Hp|]. apply Nat.pow_le_mono_l. lia. }
  intros g [|k] Hk; [lia|apply G].
Qed.
Lemma lprod_app l l' : lprod (l ++ l') = lprod l * lprod l'.
Proof. induction l as [|a l IH]; simpl; [lia|]. unfold lprod in *. simpl. rewrite IH. ring. Qed.

Lemma best_of_all (f : nat -> nat) (p : nat -> nat) :
  (forall g, g < y -> lprod (map f (seq (g * h) h)) <= f (p g) ^ h) ->
  forall k, k <= y -> lprod (map f (seq 0 (k * h))) <= lprod (map (fun g => f (p g)) (seq 0 k)) ^ h.
Proof.
  intros Hp. induction k as [|k IH]; intros Hk; [simpl; rewrite Nat.pow_1_l; lia|].
  replace (S k * h) with (k * h + h) by lia. rewrite seq_app, map_app, lprod_app, seq_S, map_app, lprod_app.
  rewrite Nat.pow_mul_l. apply Nat.mul_le_mono; [apply IH; lia|].
  simpl plus. unfold lprod at 2. simpl. rewrite Nat.mul_1_r. apply Hp. lia.
Qed.

Lemma choice J : (J - 1) ^ E * K < (y * b) ^ E ->
  exists c (p : nat -> nat), (forall g, g < y -> g * h <= p g < g * h + h) /\
    J <= list_sum (map (fun g => length (kept c (p g))) (seq 0 y)).
Proof.
  intros HJ. assert (HK : 0 < K) by (pose proof (Hknow 0 [] s); lia).
  destruct (popular (fun r => know w r s) K R) as [c [Hc L]]; [intros; apply Hknow|exact HK|].
  fold (class c) in L.
  destruct (finite_choice (fun g i => g * h <= i < g * h + h /\
      lprod (map (fun i => length (kept c i)) (seq (g * h) h)) <= length (kept c i) ^ h) 0 y) as [p Hp].
  { intros g Hg. apply best_of, Hh. }
  exists c, p. split; [intros g Hg; apply Hp, Hg|].
  set (a := map (fun g => length (kept c (p g))) (seq 0 y)).
  destruct (le_lt_dec J (list_sum a)) as [G|G]; [exact G|exfalso].
  assert (La : length a = y) by (unfold a; rewrite map_length, seq_length; reflexivity).
  pose proof (amgm a) as AG. rewrite La in AG.
  assert (LR : length R = b ^ E) by apply nwords_length. rewrite LR in L.
  pose proof (class_in_box c) as Box.
  pose proof (best_of_all (fun i => length (kept c i)) p (fun g Hg => proj2 (Hp g Hg)) y (Nat.le_refl y)) as Best.
  fold a E in Best.
  assert (T : (y * b) ^ E <= list_sum a ^ E * K).
  { rewrite Nat.pow_mul_l.
    transitivity (y ^ E * (K * lprod a ^ h)).
    { apply Nat.mul_le_mono_l. etransitivity; [exact L|]. apply Nat.mul_le_mono_l.
      etransitivity; [exact Box|exact Best]. }
    unfold E. rewrite (Nat.pow_mul_r y y h), (Nat.pow_mul_r (list_sum a) y h).
    transitivity (K * (y ^ y * lprod a) ^ h); [rewrite Nat.pow_mul_l; apply Nat.eq_le_incl; ring|].
    rewrite (Nat.mul_comm _ K). apply Nat.mul_le_mono_l, Nat.pow_le_mono_l, AG. }
  assert (list_sum a ^ E <= (J - 1) ^ E) by (apply Nat.pow_le_mono_l; lia). nia.
Qed.
End Class.

(** ** The count *)
Section Final.
Variables (s : Sg) (S2 : list (list nat)) (c : nat -> nat) (p : nat -> nat -> nat) (J : nat).
Hypothesis NS : NoDup S2.
Hypothesis IS : incl S2 B.
Hypothesis Hs : forall z2, In z2 S2 -> sg z2 = s.
Hypothesis Hp : forall w g, w < n1 -> g < y -> g * h <= p w g < g * h + h.
Hypothesis HJ : forall w, w < n1 -> J <= list_sum (map (fun g => length (kept w s (c w) (p w g))) (seq 0 y)).
Hypothesis C : correct_w.

(** the entries of z_2 that are asked for *)
Definition asked_at (w g : nat) : list nat := map (fun x => w * m + (g * b + x)) (kept w s (c w) (p w g)).
Definition asked_by (w : nat) : list nat := flat_map (asked_at w) (seq 0 y).
Definition asked : list nat := flat_map asked_by (seq 0 n1).

Lemma kept_lt w i x : i < E -> In x (kept w s (c w) i) -> x < b.
Proof.
  intros Hi Hx. apply kept_spec in Hx. destruct Hx as [r [Hr [_ <-]]]. apply (nwords_nth E); assumption.
Qed.
Lemma p_lt w g : w < n1 -> g < y -> p w g < E.
Proof. intros Hw' Hg. specialize (Hp w g Hw' Hg). unfold E. nia. Qed.
Lemma p_div w g : w < n1 -> g < y -> p w g / h = g.
Proof.
  intros Hw' Hg. specialize (Hp w g Hw' Hg). symmetry. apply (Nat.div_unique _ _ _ (p w g - g * h)); lia.
Qed.
Lemma asked_spec e : In e asked -> exists w g x, w < n1 /\ g < y /\ x < b /\
  In x (kept w s (c w) (p w g)) /\ e = w * m + (g * b + x).
Proof.
  intros H. apply in_flat_map in H. destruct H as [w [Hw' H]]. apply in_flat_map in H. destruct H as [g [Hg H]].
  apply in_map_iff in H. destruct H as [x [<- Hx]]. apply in_seq in Hw', Hg.
  exists w, g, x. repeat split; try lia; auto. apply (kept_lt w (p w g)); [apply p_lt; lia|exact Hx].
Qed.

Lemma NoDup_flat_map {X Y} (f : X -> list Y) l : NoDup l -> (forall x, In x l -> NoDup (f x)) ->
  (forall x x' e, In x l -> In x' l -> In e (f x) -> In e (f x') -> x = x') -> NoDup (flat_map f l).
Proof.
  induction 1 as [|x l Hx Hl IH]; intros Hf Hd; simpl; [constructor|].
  apply NoDup_app_intro; [apply Hf; simpl; auto| |].
  - apply IH; [intros; apply Hf; simpl; auto|]. intros a a' e Ha Ha'. apply Hd; simpl; auto.
  - intros e H2 H3. apply in_flat_map in H3. destruct H3 as [x' [Hx' H3]]. apply Hx.
    rewrite (Hd x x' e); simpl; auto.
Qed.
Lemma flat_map_sum {X Y} (f : X -> list Y) l :
  length (flat_map f l) = list_sum (map (fun x => length (f x)) l).
Proof. induction l as [|x l IH]; [reflexivity|]. simpl. rewrite app_length, IH. reflexivity. Qed.
Lemma block_unique k q q' u u' : u < k -> u' < k -> q * k + u = q' * k + u' -> q = q' /\ u = u'.
Proof. intros. assert (q = q') by nia. subst; lia. Qed.

Lemma asked_NoDup : NoDup asked.
Proof.
  apply NoDup_flat_map; [apply seq_NoDup| |].
  - intros w Hw'. apply in_seq in Hw'. apply NoDup_flat_map; [apply seq_NoDup| |].
    + intros g _. apply map_NoDup_on; [apply NoDup_nodup|]. intros; lia.
    + intros g g' e Hg Hg' H2 H3. apply in_seq in Hg, Hg'. apply in_map_iff in H2, H3.
      destruct H2 as [x [<- Hx]], H3 as [x' [Ex Hx']].
      apply kept_lt in Hx; [|apply p_lt; lia]. apply kept_lt in Hx'; [|apply p_lt; lia].
      apply (block_unique b g g' x x'); lia.
  - intros w w' e Hw' Hw'' H2 H3. apply in_seq in Hw', Hw''.
    assert (G : forall v, v < n1 -> In e (asked_by v) -> exists u, u < m /\ e = v * m + u).
    { intros v Hv He. apply in_flat_map in He. destruct He as [g [Hg He]]. apply in_seq in Hg.
      apply in_map_iff in He. destruct He as [x [<- Hx]]. apply kept_lt in Hx; [|apply p_lt; lia].
      exists (g * b + x). split; [nia|lia]. }
    destruct (G w ltac:(lia) H2) as [u [Hu E1]]. destruct (G w' ltac:(lia) H3) as [u' [Hu' E2]].
    apply (block_unique m w w' u u'); lia.
Qed.
Lemma asked_length : n1 * J <= length asked.
Proof.
  assert (G : forall k, k <= n1 -> k * J <= length (flat_map asked_by (seq 0 k))).
  { induction k as [|k IH]; intros Hk; [simpl; lia|].
    rewrite seq_S, flat_map_app, app_length. simpl flat_map at 2. rewrite app_nil_r. simpl plus.
    specialize (IH ltac:(lia)). specialize (HJ k ltac:(lia)).
    assert (EL : length (asked_by k) = list_sum (map (fun g => length (kept k s (c k) (p k g))) (seq 0 y))).
    { unfold asked_by. rewrite flat_map_sum. f_equal. apply map_ext. intros g. apply map_length. }
    lia. }
  apply G. lia.
Qed.

Definition unasked : list nat := filter (fun e => negb (memb e asked)) (seq 0 N).
Lemma unasked_length : length asked + length unasked <= N.
Proof.
  assert (EN : N = length (filter (fun e => memb e asked) (seq 0 N)) + length unasked).
  { unfold unasked. rewrite <- filter_split. symmetry; apply seq_length. }
  assert (L : length asked <= length (filter (fun e => memb e asked) (seq 0 N))); [|lia].
  apply NoDup_incl_length; [apply asked_NoDup|]. intros e He. apply filter_In. split; [|apply memb_true, He].
  apply asked_spec in He. destruct He as [w [g [x [H2 [H3 [H4 [_ ->]]]]]]]. apply in_seq. unfold N. nia.
Qed.

Definition tr_w z2 := map (tell_w z2) (seq 0 n1).
Definition tr_0 z2 := map (tell_0 z2) (seq 0 E).
Definition tr_1 z2 := map (fun q => tell_1 z2 (fst q) (snd q)) (list_prod (seq 0 E) (seq 0 b)).
Definition tr_q z2 :=
  map (fun q => tell_q z2 (fst q) (p (fst q) (snd q)) (c (fst q)) (tell_w z2 (fst q)) s)
      (list_prod (seq 0 n1) (seq 0 y)).
Definition tr z2 := (tr_w z2, (tr_0 z2, (tr_1 z2, (tr_q z2, map (fun e => nth e z2 0) unasked)))).

Lemma map_words {X Y} (f : X -> Y) (l : list X) al k :
  length l = k -> (forall x, In x l -> In (f x) al) -> In (map f l) (words k al).
Proof.
  intros L H. apply in_words. rewrite map_length. split; [assumption|].
  apply Forall_forall. intros a Ha. apply in_map_iff in Ha. destruct Ha as [x [<- Hx]]. auto.
Qed.

Lemma final_count : length S2 <= length Lw ^ n1 * (length Lb ^ E *
  (length Lb ^ (E * b) * (length Lq ^ (n1 * y) * N ^ length unasked))).
Proof.
  replace (length Lw ^ n1 * _) with (length (list_prod (words n1 Lw) (list_prod (words E Lb)
    (list_prod (words (E * b) Lb) (list_prod (words (n1 * y) Lq) (nwords (length unasked) N))))))
    by (rewrite !prod_length, nwords_length, !words_length; reflexivity).
  apply (pigeon tr); [exact NS| |].
  - intros z2 Hz. apply IS in Hz. unfold tr. repeat apply in_prod.
    + apply map_words; [apply seq_length|]. auto.
    + apply map_words; [apply seq_length|]. auto.
    + apply map_words; [rewrite prod_length, !seq_length; reflexivity|]. auto.
    + apply map_words; [rewrite prod_length, !seq_length; reflexivity|]. auto.
    + apply map_words; [reflexivity|]. intros e He. apply filter_In in He. destruct He as [He _].
      apply in_seq in He. apply in_seq. split; [lia|]. apply (nwords_nth N); [exact Hz|lia].
  - intros u v Hu Hv Et. injection Et. intros Erest Eq E1 E0 Ew. clear Et.
    pose proof (IS u Hu) as Bu. pose proof (IS v Hv) as Bv.
    assert (Lu : length u = N) by (apply in_nwords in Bu; tauto).
    assert (Lv : length v = N) by (apply in_nwords in Bv; tauto).
    apply (nth_ext_on 0 u v N); auto. intros e He.
    destruct (memb e asked) eqn:Ra.
    + apply memb_true, asked_spec in Ra. destruct Ra as [w [g [x [H2 [H3 [H4 [Hx Ee]]]]]]].
      apply kept_spec in Hx. destruct Hx as [r [Hr [Hk Hx]]].
      pose proof (p_lt w g H2 H3) as Hpl. pose proof (p_div w g H2 H3) as Hpd.
      pose proof (C w (p w g) r u H2 Hpl Hr Bu) as Cu. pose proof (C w (p w g) r v H2 Hpl Hr Bv) as Cv.
      unfold truth_w, value in Cu, Cv. rewrite Hpd, Hx, <- Ee in Cu, Cv. rewrite <- Cu, <- Cv.
      unfold ans_w. rewrite (Hs u Hu), (Hs v Hv), Hk.
      assert (Gw : tell_w u w = tell_w v w) by (apply (ext_in_map Ew); apply in_seq; lia).
      assert (G0 : tell_0 u (p w g) = tell_0 v (p w g)) by (apply (ext_in_map E0); apply in_seq; lia).
      assert (Gq : tell_q u w (p w g) (c w) (tell_w u w) s = tell_q v w (p w g) (c w) (tell_w v w) s)
        by (apply (ext_in_map Eq (w, g)); apply in_prod; apply in_seq; lia).
      rewrite Gq, G0, Gw. f_equal. apply map_ext_in. intros i Hi.
      apply (ext_in_map E1 (i, nth i r 0)). apply in_prod; [exact Hi|]. apply in_seq in Hi. apply in_seq.
      split; [lia|]. apply (nwords_nth E); [exact Hr|lia].
    + apply (ext_in_map Erest). apply filter_In. split; [apply in_seq; lia|]. rewrite Ra. reflexivity.
Qed.
End Final.

Theorem each_w J : 0 < n1 -> (J - 1) ^ E * K < (y * b) ^ E -> correct_w ->
  N ^ (n1 * J) <= length Ls * (length Lw ^ n1 * (length Lb ^ (E + E * b) * length Lq ^ (n1 * y))).
Proof.
  intros Hn HJ C. assert (Hm : 0 < m) by nia. assert (HN : 0 < N) by (unfold N; nia).
  assert (LB : length B = N ^ N) by apply nwords_length.
  assert (PB : 0 < length B) by (rewrite LB; pose proof (Nat.pow_nonzero N N); lia).
  destruct (popular_in Sg_dec sg Ls B) as [s Ls2]; [intros EB; rewrite EB in PB; simpl in PB; lia|exact Hsg|].
  set (S2 := filter (fun a => if Sg_dec (sg a) s then true else false) B) in *.
  destruct (finite_choice (fun w (q : nat * (nat -> nat)) =>
      (forall g, g < y -> g * h <= snd q g < g * h + h) /\
      J <= list_sum (map (fun g => length (kept w s (fst q) (snd q g))) (seq 0 y))) (0, fun g => g) n1) as [f Hf].
  { intros w _. destruct (choice w s J HJ) as [c [p [H2 H3]]]. exists (c, p). auto. }
  pose proof (final_count s S2 (fun w => fst (f w)) (fun w => snd (f w))) as F.
  assert (NS : NoDup S2) by (apply filter_NoDup, nwords_NoDup).
  assert (IS : incl S2 B) by (intros z Hz; apply filter_In in Hz; tauto).
  assert (Hs : forall z2, In z2 S2 -> sg z2 = s).
  { intros z2 Hz. apply filter_In in Hz. destruct Hz as [_ Hz]. destruct (Sg_dec (sg z2) s); [assumption|discriminate]. }
  specialize (F NS IS Hs (fun w g Hw' => proj1 (Hf w Hw') g) C).
  set (un := unasked s (fun w => fst (f w)) (fun w => snd (f w))) in *.
  pose proof (asked_length s (fun w => fst (f w)) (fun w => snd (f w)) J (fun w Hw' => proj2 (Hf w Hw'))) as AL.
  pose proof (unasked_length s (fun w => fst (f w)) (fun w => snd (f w)) (fun w g Hw' => proj1 (Hf w Hw') g)) as UL.
  fold un in UL.
  assert (P : 0 < N ^ length un) by (pose proof (Nat.pow_nonzero N (length un)); lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N ^ length un) P). rewrite <- Nat.pow_add_r.
  transitivity (N ^ N); [apply Nat.pow_le_mono_r; lia|]. rewrite <- LB. etransitivity; [exact Ls2|].
  rewrite <- (Nat.mul_assoc (length Ls)). apply Nat.mul_le_mono_l. etransitivity; [exact F|].
  rewrite Nat.pow_add_r. apply Nat.eq_le_incl. ring.
Qed.
End EachW.
