(** One layer of (B,k)-sparse attention on 2-Sum.  A block tells the query a message and
    at most kappa blocks are opened.  If the layer is always right, the message of some
    block tells apart all sets of at most B of D = M - floor(kappa M / nb) values.
    The maps from block to message may differ from block to block (positions). *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers.

(** 2-Sum, the last token asks: is there a token x with x + q = 0 mod M? *)
Definition two_sum (M : nat) (xs : list nat) (q : nat) : bool :=
  existsb (fun x => (x + q) mod M =? 0) xs.

(** ** The layer *)
Record block_layer := {
  bl_message : Type;
  bl_tell : nat -> list nat -> bl_message;                          (* block, its tokens *)
  bl_select : list bl_message -> list nat -> nat -> list nat;       (* blocks to open *)
  bl_answer : list bl_message -> list (list nat) -> list nat -> nat -> bool }.

Fixpoint tell_all (L : block_layer) (j : nat) (blocks : list (list nat)) : list (bl_message L) :=
  match blocks with [] => [] | b :: bs => bl_tell L j b :: tell_all L (S j) bs end.

(** nb whole blocks, then the tokens [own] beside the query in its own block, then q. *)
Definition run_layer (L : block_layer) (blocks : list (list nat)) (own : list nat) (q : nat) : bool :=
  let ms := tell_all L 0 blocks in
  bl_answer L ms (map (fun i => nth i blocks []) (bl_select L ms own q)) own q.

Definition opens (L : block_layer) (kappa : nat) : Prop :=
  forall ms own q, length (bl_select L ms own q) <= kappa.
Definition message_bits (L : block_layer) (M B w : nat) : Prop :=
  exists messages : list (bl_message L), length messages <= 2 ^ w /\
    forall j c, In c (nwords B M) -> In (bl_tell L j c) messages.
Definition solves_two_sum (L : block_layer) (M B nb rest : nat) : Prop :=
  forall blocks own q, length blocks = nb -> Forall (fun b => In b (nwords B M)) blocks ->
    In own (nwords rest M) -> q < M -> run_layer L blocks own q = two_sum M (concat blocks ++ own) q.

Lemma mod_hit M x v : x < M -> v < M -> (x + (M - v) mod M) mod M = 0 <-> x = v.
Proof.
  intros Hx Hv. rewrite Nat.add_mod_idemp_r by lia. split.
  - intros H. destruct (le_lt_dec v x) as [L|L].
    + replace (x + (M - v)) with ((x - v) + 1 * M) in H by lia.
      rewrite Nat.mod_add in H by lia. rewrite Nat.mod_small in H by lia. lia.
    + rewrite Nat.mod_small in H by lia. lia.
  - intros ->. replace (v + (M - v)) with M by lia. apply Nat.mod_same. lia.
Qed.

Lemma two_sum_asks M xs v : v < M -> Forall (fun x => x < M) xs ->
  two_sum M xs ((M - v) mod M) = true <-> In v xs.
Proof.
  intros Hv F. rewrite Forall_forall in F. unfold two_sum. rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply Nat.eqb_eq, mod_hit in E; auto. subst; assumption.
  - intros H. exists v. split; [assumption|]. apply Nat.eqb_eq, mod_hit; auto.
Qed.

(** Replacing one block. *)
Fixpoint upd {A} (j : nat) (a : A) (l : list A) :=
  match l, j with
  | [], _ => []
  | _ :: l, 0 => a :: l
  | x :: l, S j => x :: upd j a l
  end.
Lemma upd_nth {A} j (a d : A) l : forall i, i <> j -> nth i (upd j a l) d = nth i l d.
Proof. revert j; induction l as [|x l IH]; intros [|j] [|i] H; simpl; auto; try lia. Qed.
Lemma upd_in {A} j (a : A) l : j < length l -> In a (upd j a l).
Proof. revert j; induction l as [|x l IH]; intros [|j] H; simpl in *; auto; try lia. right; apply IH; lia. Qed.
Lemma upd_length {A} j (a : A) l : length (upd j a l) = length l.
Proof. revert j; induction l as [|x l IH]; intros [|j]; simpl; auto. Qed.
Lemma upd_Forall {A} (P : A -> Prop) j a l : P a -> Forall P l -> Forall P (upd j a l).
Proof. intros Ha H; revert j; induction H; intros [|j]; simpl; auto. Qed.
Lemma upd_tell L j a blocks : forall i, bl_tell L (i + j) a = bl_tell L (i + j) (nth j blocks []) ->
  tell_all L i (upd j a blocks) = tell_all L i blocks.
Proof.
  revert j; induction blocks as [|x bs IH]; intros [|j] i E; simpl in *; auto.
  - rewrite Nat.add_0_r in E. congruence.
  - f_equal. apply IH. rewrite <- plus_n_Sm in E. exact E.
Qed.

(** Of more than kappa places one is not opened. *)
Lemma unopened (places opened : list nat) : NoDup places -> length opened < length places ->
  exists j, In j places /\ ~ In j opened.
Proof.
  intros N H. destruct (forallb (fun j => memb j opened) places) eqn:E.
  - exfalso. rewrite forallb_forall in E. apply (Nat.lt_irrefl (length places)).
    eapply Nat.le_lt_trans; [|exact H]. apply NoDup_incl_length; [exact N|].
    intros j Hj. apply memb_true, E, Hj.
  - apply forallb_false in E. destruct E as [j [Hj E]]. exists j. split; [exact Hj|].
    apply memb_false, E.
Qed.

Section Bound.
Variables (L : block_layer) (M B nb rest kappa : nat).
Variable eqm : forall x y : bl_message L, {x = y} + {x <> y}.
Hypothesis Hopens : opens L kappa.
Hypothesis Hsolves : solves_two_sum L M B nb rest.
Let contents := nwords B M.

(** Two contents of block j, one with v and one without, send the same message. *)
Definition witness (j v : nat) (p : list nat * list nat) : bool :=
  memb v (fst p) && negb (memb v (snd p)) &&
  (if eqm (bl_tell L j (fst p)) (bl_tell L j (snd p)) then true else false).
Definition ambiguous (j v : nat) : bool := existsb (witness j v) (list_prod contents contents).

Lemma ambiguous_spec j v : ambiguous j v = true <->
  exists a b, In a contents /\ In b contents /\ In v a /\ ~ In v b /\ bl_tell L j a = bl_tell L j b.
Proof.
  unfold ambiguous, witness. rewrite existsb_exists. split.
  - intros [[a b] [Hp H]]. apply in_prod_iff in Hp. simpl in H.
    rewrite !andb_true_iff, negb_true_iff, memb_true, memb_false in H. destruct H as [[H1 H2] H3].
    destruct (eqm (bl_tell L j a) (bl_tell L j b)); [|discriminate]. exists a, b. tauto.
  - intros [a [b [Ha [Hb [H1 [H2 E]]]]]]. exists (a, b). split; [apply in_prod; assumption|].
    simpl. apply memb_true in H1. apply memb_false in H2. rewrite H1, H2.
    destruct (eqm (bl_tell L j a) (bl_tell L j b)); [reflexivity|contradiction].
Qed.

(** The content of block j without v: from a witness if there is one. *)
Definition without (u v j : nat) : list nat :=
  match find (witness j v) (list_prod contents contents) with
  | Some p => snd p
  | None => repeat u B
  end.

Lemma without_spec u v j : u < M -> u <> v -> In (without u v j) contents /\ ~ In v (without u v j).
Proof.
  intros Hu Huv. unfold without. destruct (find _ _) as [[a b]|] eqn:E.
  - apply find_some in E. destruct E as [Hp H]. apply in_prod_iff in Hp. unfold witness in H. simpl in *.
    rewrite !andb_true_iff, negb_true_iff, memb_false in H. tauto.
  - split.
    + apply in_nwords. split; [apply repeat_length|]. apply Forall_forall. intros x Hx.
      apply repeat_spec in Hx. subst; assumption.
    + intros Hx. apply repeat_spec in Hx. auto.
Qed.

Lemma nth_map_seq {A} (f : nat -> A) d n i : i < n -> nth i (map f (seq 0 n)) d = f i.
Proof. intros H. rewrite (nth_indep _ d (f 0)) by (rewrite map_length, seq_length; exact H).
  rewrite map_nth, seq_nth by exact H. reflexivity. Qed.

(** At most kappa blocks are ambiguous about one value. *)
Lemma few_ambiguous v : v < M -> length (filter (fun j => ambiguous j v) (seq 0 nb)) <= kappa.
Proof.
  intros Hv. destruct (le_lt_dec (length (filter (fun j => ambiguous j v) (seq 0 nb))) kappa) as [H|H];
    [exact H|exfalso].
  assert (U : exists u, u < M /\ u <> v).
  { destruct (filter (fun j => ambiguous j v) (seq 0 nb)) as [|j l] eqn:E; [simpl in H; lia|].
    assert (Hj : In j (j :: l)) by (simpl; auto). rewrite <- E in Hj. apply filter_In in Hj.
    destruct Hj as [_ Hj]. apply ambiguous_spec in Hj. destruct Hj as [a [b [Ha [Hb [H1 [H2 _]]]]]].
    apply in_nwords in Ha, Hb. destruct Ha as [La _], Hb as [Lb Fb].
    destruct b as [|u b]; [destruct a; [destruct H1|simpl in *; lia]|].
    inversion Fb; subst. exists u. split; [assumption|]. intros ->. apply H2. simpl; auto. }
  destruct U as [u [Hu Huv]].
  set (X := map (without u v) (seq 0 nb)). set (own := repeat u rest). set (q := (M - v) mod M).
  assert (LX : length X = nb) by (unfold X; rewrite map_length; apply seq_length).
  assert (FX : Forall (fun b => In b contents) X).
  { apply Forall_forall. intros b Hb. apply in_map_iff in Hb. destruct Hb as [j [<- _]].
    apply without_spec; assumption. }
  assert (Fown : In own (nwords rest M)).
  { apply in_nwords. split; [apply repeat_length|]. apply Forall_forall. intros x Hx.
    apply repeat_spec in Hx. rewrite Hx; exact Hu. }
  assert (Hq : q < M) by (apply Nat.mod_upper_bound; lia).
  destruct (unopened (filter (fun j => ambiguous j v) (seq 0 nb)) (bl_select L (tell_all L 0 X) own q))
    as [j [Hj Hn]]; [apply filter_NoDup, seq_NoDup|specialize (Hopens (tell_all L 0 X) own q); lia|].
  apply filter_In in Hj. destruct Hj as [Hj Ha]. apply in_seq in Hj.
  assert (W : exists a b, find (witness j v) (list_prod contents contents) = Some (a, b) /\
            In a contents /\ In v a /\ bl_tell L j a = bl_tell L j b).
  { unfold ambiguous in Ha. apply existsb_exists in Ha. destruct Ha as [p [Hp Ha]].
    destruct (find (witness j v) (list_prod contents contents)) as [[a b]|] eqn:E.
    - exists a, b. split; [reflexivity|]. apply find_some in E. destruct E as [E1 E2].
      apply in_prod_iff in E1. unfold witness in E2. simpl in E2.
      rewrite !andb_true_iff, memb_true in E2. destruct E2 as [[E2 _] E3].
      destruct (eqm (bl_tell L j a) (bl_tell L j b)); [tauto|discriminate].
    - pose proof (find_none _ _ E p Hp). congruence. }
  destruct W as [a [b [Ef [Hac [Hva Et]]]]].
  set (Y := upd j a X).
  assert (EX : nth j X [] = b).
  { unfold X. rewrite nth_map_seq by lia. unfold without. rewrite Ef. reflexivity. }
  assert (Em : tell_all L 0 Y = tell_all L 0 X).
  { apply upd_tell. simpl. rewrite EX. exact Et. }
  assert (Same : run_layer L Y own q = run_layer L X own q).
  { unfold run_layer. rewrite Em. f_equal. apply map_ext_in. intros i Hi. apply upd_nth.
    intros ->. contradiction. }
  rewrite (Hsolves Y own q), (Hsolves X own q) in Same; try assumption.
  2: unfold Y; rewrite upd_length; assumption.
  2: apply upd_Forall; assumption.
  assert (Small : forall Z, Forall (fun b => In b contents) Z -> Forall (fun x => x < M) (concat Z ++ own)).
  { intros Z FZ. apply Forall_app. split; [|apply in_nwords in Fown; tauto].
    apply Forall_forall. intros x Hx. apply in_concat in Hx. destruct Hx as [c [Hc Hx]].
    rewrite Forall_forall in FZ. specialize (FZ c Hc). apply in_nwords in FZ. destruct FZ as [_ FZ].
    rewrite Forall_forall in FZ. auto. }
  assert (TY : two_sum M (concat Y ++ own) q = true).
  { apply two_sum_asks; [assumption|apply Small, upd_Forall; assumption|].
    apply in_app_iff. left. apply in_concat. exists a. split; [apply upd_in; lia|assumption]. }
  rewrite TY in Same. symmetry in Same. apply two_sum_asks in Same; [|assumption|apply Small, FX].
  apply in_app_iff in Same. destruct Same as [Hx|Hx].
  - apply in_concat in Hx. destruct Hx as [c [Hc Hx]]. apply in_map_iff in Hc.
    destruct Hc as [i [<- _]]. apply (proj2 (without_spec u v i Hu Huv)). exact Hx.
  - apply repeat_spec in Hx. auto.
Qed.

(** ** Sets of values as contents of a block *)
Fixpoint pick (U : list nat) (u : list bool) : list nat :=
  match U, u with
  | x :: U, b :: u => if b then x :: pick U u else pick U u
  | _, _ => []
  end.
Lemma pick_length U : forall u, length u = length U -> length (pick U u) = popc u.
Proof. induction U as [|x U IH]; intros [|[|] u] H; simpl in *; try lia; auto. Qed.
Lemma pick_in U : forall u v, In v (pick U u) -> In v U.
Proof.
  induction U as [|x U IH]; intros [|[|] u] v H; simpl in *; try tauto; [destruct H|]; eauto.
Qed.
Lemma pick_nth U : NoDup U -> forall u i, length u = length U -> i < length U ->
  In (nth i U 0) (pick U u) <-> nth i u false = true.
Proof.
  induction 1 as [|x U Hx HU IH]; intros [|b u] i Lu Hi; simpl in *; try lia.
  destruct i as [|i].
  - destruct b; simpl; [tauto|]. split; [|discriminate]. intros H. apply pick_in in H. contradiction.
  - rewrite <- (IH u i) by lia. destruct b; simpl; [|tauto]. split; [|auto].
    intros [E|H]; [|assumption]. exfalso. apply Hx. rewrite E. apply nth_In. lia.
Qed.
Definition pad (d : nat) (l : list nat) : list nat := l ++ repeat (hd d l) (B - length l).
Lemma pad_in d l v : In v (pad d l) -> In v l \/ (l = [] /\ v = d).
Proof.
  unfold pad. rewrite in_app_iff. intros [H|H]; [auto|]. apply repeat_spec in H. subst v.
  destruct l as [|x l]; simpl; auto.
Qed.

(** D values about which block j is not ambiguous: its messages tell their sets apart. *)
Lemma sets_told j U lo d : NoDup U -> (forall v, In v U -> v < M /\ ambiguous j v = false) ->
  d < M -> (0 < lo \/ ~ In d U) ->
  forall messages, (forall c, In c contents -> In (bl_tell L j c) messages) ->
  length (flat_map (subsets (length U)) (seq lo (S B - lo))) <= length messages.
Proof.
  intros NU HU Hd Hlo messages Hm.
  assert (HS : forall u, In u (flat_map (subsets (length U)) (seq lo (S B - lo))) ->
            length u = length U /\ lo <= popc u <= B).
  { intros u Hu. apply in_flat_map in Hu. destruct Hu as [i [Hi Hu]]. apply in_seq in Hi.
    apply in_subsets in Hu. lia. }
  assert (HC : forall u, In u (flat_map (subsets (length U)) (seq lo (S B - lo))) -> In (pad d (pick U u)) contents).
  { intros u Hu. apply HS in Hu. destruct Hu as [Lu Pu]. apply in_nwords. split.
    { unfold pad. rewrite app_length, repeat_length, pick_length by assumption. lia. }
    apply Forall_forall. intros v Hv. apply pad_in in Hv. destruct Hv as [Hv|[_ ->]]; [|assumption].
    apply (HU v), (pick_in _ _ _ Hv). }
  assert (Apart : forall u u', In u (flat_map (subsets (length U)) (seq lo (S B - lo))) ->
            In u' (flat_map (subsets (length U)) (seq lo (S B - lo))) -> popc u' <= popc u -> u <> u' ->
            bl_tell L j (pad d (pick U u)) <> bl_tell L j (pad d (pick U u'))).
  { intros u u' Hu Hu' Hp Hne E. pose proof (HS u Hu) as [Lu Pu]. pose proof (HS u' Hu') as [Lu' Pu'].
    destruct (subset_diff u u') as [i [Hi [H1 H2]]]; [lia|assumption|assumption|].
    rewrite Lu in Hi. set (v := nth i U 0).
    assert (Hv : In v U) by (apply nth_In; assumption).
    destruct (HU v Hv) as [_ Hna]. assert (Ham : ambiguous j v = true); [|congruence].
    apply ambiguous_spec. exists (pad d (pick U u)), (pad d (pick U u')).
    split; [apply HC, Hu|]. split; [apply HC, Hu'|]. split; [|split; [|exact E]].
    - apply in_app_iff. left. apply pick_nth; auto.
    - intros Hx. apply pad_in in Hx. destruct Hx as [Hx|[Hx Ed]].
      + apply pick_nth in Hx; auto. congruence.
      + apply (f_equal (@length _)) in Hx. rewrite pick_length in Hx by assumption. simpl in Hx.
        destruct Hlo as [Hlo|Hlo]; [lia|]. apply Hlo. rewrite <- Ed. exact Hv. }
  apply (pigeon (fun u => bl_tell L j (pad d (pick U u)))).
  - clear - U. generalize (S B - lo), (length U). intros n D. revert lo.
    induction n as [|n IH]; intros k; simpl; [constructor|].
    apply NoDup_app_intro; [apply subsets_NoDup|apply IH|]. intros u H1 H2.
    apply in_subsets in H1. apply in_flat_map in H2. destruct H2 as [i [Hi H2]].
    apply in_subsets in H2. apply in_seq in Hi. lia.
  - intros u Hu. apply Hm, HC, Hu.
  - intros u u' Hu Hu' E. destruct (list_eq_dec bool_dec u u') as [?|Hne]; [assumption|exfalso].
    destruct (le_lt_dec (popc u') (popc u)) as [Hp|Hp].
    + exact (Apart u u' Hu Hu' Hp Hne E).
    + apply (Apart u' u Hu' Hu ltac:(lia)); congruence.
Qed.

Definition binom_sum (D lo hi : nat) : nat := list_sum (map (binom D) (seq lo (S hi - lo))).
Lemma sets_length D lo hi : length (flat_map (subsets D) (seq lo (S hi - lo))) = binom_sum D lo hi.
Proof.
  unfold binom_sum. generalize (S hi - lo). intros n. revert lo.
  induction n as [|n IH]; intros k; simpl; [reflexivity|].
  rewrite app_length, subsets_length, IH. reflexivity.
Qed.

(** Some block is ambiguous about at most kappa M / nb values. *)
Lemma clear_block : 0 < nb ->
  exists j, j < nb /\ nb * length (filter (ambiguous j) (seq 0 M)) <= kappa * M.
Proof.
  intros Hnb.
  assert (T : lsum (fun j => length (filter (ambiguous j) (seq 0 M))) (seq 0 nb) <= kappa * M).
  { rewrite double_count. rewrite <- (seq_length M 0) at 2. rewrite Nat.mul_comm.
    assert (G : forall l, (forall v, In v l -> v < M) ->
      lsum (fun v => length (filter (fun j => ambiguous j v) (seq 0 nb))) l <= length l * kappa).
    { induction l as [|v l IH]; intros Hl; [apply Nat.le_refl|]. rewrite lsum_cons. simpl length.
      pose proof (few_ambiguous v (Hl v (or_introl eq_refl))).
      specialize (IH (fun x Hx => Hl x (or_intror Hx))). lia. }
    apply G. intros v Hv. apply in_seq in Hv. lia. }
  destruct (forallb (fun j => kappa * M <? nb * length (filter (ambiguous j) (seq 0 M))) (seq 0 nb)) eqn:E.
  - exfalso. rewrite forallb_forall in E.
    pose proof (lsum_ge (fun j => nb * length (filter (ambiguous j) (seq 0 M))) (S (kappa * M)) (seq 0 nb)) as G.
    rewrite seq_length in G.
    assert (Es : forall l, lsum (fun j => nb * length (filter (ambiguous j) (seq 0 M))) l
                  = nb * lsum (fun j => length (filter (ambiguous j) (seq 0 M))) l).
    { induction l as [|x l IH]; [unfold lsum; simpl; lia|]. rewrite !lsum_cons, IH. lia. }
    rewrite Es in G. assert (nb * S (kappa * M) <= nb * (kappa * M)); [|nia].
    etransitivity; [apply G|apply Nat.mul_le_mono_l, T].
    intros j Hj. specialize (E j Hj). apply Nat.ltb_lt in E. lia.
  - apply forallb_false in E. destruct E as [j [Hj E]]. exists j. apply in_seq in Hj.
    split; [lia|]. apply Nat.ltb_ge in E. exact E.
Qed.

Theorem block_messages D lo w : 0 < nb -> 0 < M -> D = M - kappa * M / nb -> (0 < lo \/ D < M) ->
  message_bits L M B w -> binom_sum D lo B <= 2 ^ w.
Proof.
  intros Hnb HM HD Hlo [messages [Lm Hm]]. etransitivity; [|exact Lm].
  destruct clear_block as [j [Hj Hc]]; [assumption|].
  set (clear := filter (fun v => negb (ambiguous j v)) (seq 0 M)).
  assert (LD : D <= length clear).
  { pose proof (filter_split (ambiguous j) (seq 0 M)) as E. rewrite seq_length in E. fold clear in E.
    assert (length (filter (ambiguous j) (seq 0 M)) <= kappa * M / nb)
      by (apply Nat.div_le_lower_bound; lia). lia. }
  set (U := firstn D clear).
  assert (LU : length U = D) by (unfold U; rewrite firstn_length; lia).
  assert (NC : NoDup clear) by (apply filter_NoDup, seq_NoDup).
  assert (IU : forall v, In v U -> In v clear).
  { intros v Hv. rewrite <- (firstn_skipn D clear). apply in_app_iff. auto. }
  assert (NU : NoDup U).
  { unfold U. clear -NC. revert D. induction NC as [|x l Hx NC IH]; intros [|D]; simpl; constructor; auto.
    intros H. apply Hx. rewrite <- (firstn_skipn D l). apply in_app_iff. auto. }
  assert (Hd : exists d, d < M /\ (0 < lo \/ ~ In d U)).
  { destruct Hlo as [Hlo|Hlo]; [exists 0; auto|].
    destruct (unopened (seq 0 M) U) as [d [Hd Hn]]; [apply seq_NoDup|rewrite seq_length; lia|].
    apply in_seq in Hd. exists d. split; [lia|auto]. }
  destruct Hd as [d [Hd Hl]].
  rewrite <- LU, <- sets_length. apply (sets_told j U lo d); auto.
  intros v Hv. apply IU, filter_In in Hv. destruct Hv as [Hv Ha]. apply in_seq in Hv.
  apply negb_true_iff in Ha. split; [lia|assumption].
Qed.

(** One map for all blocks: then no value is ambiguous at all. *)
Theorem block_messages_shared w : kappa < nb -> 0 < M ->
  (forall j j' c, bl_tell L j c = bl_tell L j' c) ->
  message_bits L M B w -> binom_sum M 1 B <= 2 ^ w.
Proof.
  intros Hnb HM Hs [messages [Lm Hm]]. etransitivity; [|exact Lm].
  rewrite <- (seq_length M 0) at 1. rewrite <- sets_length.
  apply (sets_told 0 (seq 0 M) 1 0); auto using seq_NoDup.
  intros v Hv. apply in_seq in Hv. split; [lia|].
  destruct (ambiguous 0 v) eqn:E; [exfalso|reflexivity].
  pose proof (few_ambiguous v ltac:(lia)) as F.
  rewrite filter_all, seq_length in F; [lia|]. intros j _. apply ambiguous_spec in E. apply ambiguous_spec.
  destruct E as [a [b [Ha [Hb [H1 [H2 E]]]]]]. exists a, b. rewrite (Hs j 0 a), (Hs j 0 b). auto.
Qed.
End Bound.

(** ** What a verdict says: the sum of binomials in binary numbers *)
Lemma binom_above n : forall k, n < k -> binom n k = 0.
Proof. induction n as [|n IH]; intros [|k] H; simpl; try lia. rewrite !IH; lia. Qed.
Lemma binom_next n : forall k, binom n (S k) * S k = binom n k * (n - k).
Proof.
  induction n as [|n IH]; intros k; [destruct k; simpl; lia|].
  destruct k as [|k].
  - simpl binom at 1. rewrite binom_0. specialize (IH 0). rewrite binom_0 in IH.
    change (binom (S n) 0) with 1. lia.
  - change (binom (S n) (S (S k))) with (binom n (S k) + binom n (S (S k))).
    change (binom (S n) (S k)) with (binom n k + binom n (S k)).
    pose proof (IH k) as E1. pose proof (IH (S k)) as E2.
    destruct (le_lt_dec n k) as [G|G].
    + rewrite (binom_above n (S k)), (binom_above n (S (S k))) by lia. replace (S n - S k) with 0 by lia. lia.
    + replace (S n - S k) with (n - k) by lia. replace (n - k) with (S (n - S k)) in * by lia. nia.
Qed.

Section Computed.
Local Open Scope N_scope.
(** the terms i, i+1, …, i+steps-1, if c is the i-th *)
Fixpoint terms (D i c acc : N) (steps : nat) : N :=
  match steps with
  | O => acc
  | S steps => terms D (i + 1) (c * (D - i) / (i + 1)) (acc + c) steps
  end.
Lemma terms_sum D steps : forall i acc,
  N.to_nat (terms D (N.of_nat i) (N.of_nat (binom (N.to_nat D) i)) acc steps)
  = (N.to_nat acc + list_sum (map (binom (N.to_nat D)) (seq i steps)))%nat.
Proof.
  induction steps as [|steps IH]; intros i acc; simpl; [lia|].
  assert (E : N.of_nat (binom (N.to_nat D) i) * (D - N.of_nat i) / (N.of_nat i + 1)
              = N.of_nat (binom (N.to_nat D) (S i))).
  { symmetry. apply N.div_unique_exact; [lia|]. pose proof (binom_next (N.to_nat D) i). nia. }
  rewrite E. replace (N.of_nat i + 1) with (N.of_nat (S i)) by lia. rewrite IH.
  rewrite N2Nat.inj_add, Nat2N.id. lia.
Qed.
(** all sets of at most B of D values, without the empty one if D = M *)
Definition sets_exceed (w M B nb kappa : N) : bool :=
  let D := M - kappa * M / nb in
  (0 <? nb) && (0 <? M) &&
  (2 ^ w + (if D <? M then 0 else 1) <? terms D 0 1 0 (N.to_nat (B + 1))).
End Computed.

Theorem cannot_two_sum w M B nb rest kappa : sets_exceed w M B nb kappa = true ->
  forall L, (forall x y : bl_message L, {x = y} + {x <> y}) -> opens L (N.to_nat kappa) ->
  message_bits L (N.to_nat M) (N.to_nat B) (N.to_nat w) ->
  ~ solves_two_sum L (N.to_nat M) (N.to_nat B) (N.to_nat nb) (N.to_nat rest).
Proof.
  intros H L eqm Ho Hm Hs. unfold sets_exceed in H.
  rewrite !andb_true_iff, !N.ltb_lt in H. destruct H as [[Hnb HM] H].
  set (D := (M - kappa * M / nb)%N) in *.
  assert (ED : N.to_nat D = N.to_nat M - N.to_nat kappa * N.to_nat M / N.to_nat nb).
  { unfold D. rewrite N2Nat.inj_sub, N2Nat.inj_div, N2Nat.inj_mul. reflexivity. }
  pose proof (terms_sum D (N.to_nat (B + 1)) 0 0) as T. rewrite binom_0 in T.
  change (N.of_nat 0) with 0%N in T. change (N.of_nat 1) with 1%N in T.
  rewrite N2Nat.inj_add in T. change (N.to_nat 1) with 1 in T. rewrite Nat.add_1_r in T.
  apply to_nat_lt in H. rewrite N2Nat.inj_add, N2Nat.inj_pow, N2Nat.inj_add in H.
  change (N.to_nat 1) with 1 in H. change (N.to_nat 2) with 2 in H. rewrite Nat.add_1_r in H. rewrite T in H.
  destruct (D <? M)%N eqn:Elt.
  - pose proof (block_messages L _ _ _ _ _ eqm Ho Hs (N.to_nat D) 0 (N.to_nat w) ltac:(lia) ltac:(lia) ED
                  (or_intror (to_nat_lt _ _ (proj1 (N.ltb_lt _ _) Elt))) Hm) as Bd.
    unfold binom_sum in Bd. rewrite Nat.sub_0_r in Bd. simpl N.to_nat in H. lia.
  - pose proof (block_messages L _ _ _ _ _ eqm Ho Hs (N.to_nat D) 1 (N.to_nat w) ltac:(lia) ltac:(lia) ED
                  (or_introl Nat.lt_0_1) Hm) as Bd.
    unfold binom_sum in Bd. replace (S (N.to_nat B) - 1) with (N.to_nat B) in Bd by lia.
    simpl seq in H. simpl map in H. simpl list_sum in H. rewrite binom_0 in H. simpl N.to_nat in H. lia.
Qed.
