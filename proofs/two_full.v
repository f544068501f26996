(** Two hops by two full layers and linear layers behind them, by pairs of values (cubes.v): stacks F F L ... L, head
    by head or not, with no linear layer before the second full one.
    The last h entries of z_1 vary, all but one of them between two values, and of the n_1 parts of z_2 so many [rows]
    are asked for.  What w and the states know of z_1 at
    the first layer, for all w together, is d bits, so of the entry that z_0 asks for x <= b (h - d) / h values are
    possible whatever is known: x functions z_1.  Then what w asks at the second layer does not depend on them, and
    the states behind the second layer are fixed once for each. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state rectangle cubes many_hops many_hops_stack many_hops_thoughts segments.
From Limen Require depth_rule.

Section Two.
Context {H : Type}.
Variable ls : list (layer H).
Variables m n1 rows h b : nat.
Hypothesis Hh : 0 < h <= m.
Hypothesis Hb : 0 < b <= m.
Hypothesis Hrows : 0 < rows <= n1.
Let N := n1 * m.
Let n := N + m.
Variables b1 b2 s1 s2 : nat.
Let g1 := segment 1 ls.
Let g2 := segment 2 ls.
Hypothesis Hstack : ls = g1 ++ g2.
Variables say1 say2 : H -> list H -> nat.
Hypothesis Hsay1 : voice g1 n b1 say1.
Hypothesis Hsay2 : voice g2 n b2 say2.
Variables num1 num2 : list H -> nat.
Definition counted (g : list (layer H)) (s : nat) (num : list H -> nat) : Prop := (forall xs, num xs < 2 ^ s) /\
  forall xs xs', length xs = length xs' -> length xs <= n -> num xs = num xs' -> same_states g xs xs'.
Hypothesis Hnum1 : counted g1 s1 num1.
Hypothesis Hnum2 : counted g2 s2 num2.
(** The first layer is one layer: its states depend on raw tokens alone. *)
Hypothesis g1_states : forall r r' x, same_states g1 r r' -> same_states g1 (r ++ x) (r' ++ x).

Variable tok : nat -> nat -> nat -> H.
Variables (tok0 : nat -> H) (tokw : list nat -> H) (read : H -> nat).
Definition fixed : list nat := repeat 0 (m - h).
Definition t2 (z2 : list nat) : list H := wrv (tok 1) 0 z2 ++ wrv (tok 0) 0 fixed.
Definition t1 (r : list nat) : list H := wrv (tok 0) (m - h) r.
Definition word (w : nat) : list nat := [0; w].
Definition ending (a w : nat) : list H := [tok0 (m - h + a)] ++ [tokw (word w)].
Lemma text_is a w r z2 : input tok tok0 tokw (m - h + a) (word w) [fixed ++ r; z2] = t2 z2 ++ t1 r ++ ending a w.
Proof.
  unfold input, t2, t1, ending. cbn [text]. unfold block. rewrite (wrv_app (tok 0) fixed r). unfold fixed at 2.
  rewrite repeat_length, <- !app_assoc. reflexivity.
Qed.
Lemma t2_length z2 : In z2 (nwords N N) -> length (t2 z2) = N + (m - h).
Proof. intros Hz. apply in_nwords in Hz. unfold t2, fixed. rewrite app_length, !wrv_len, repeat_length. lia. Qed.
Lemma t1_length r : In r (nwords h b) -> length (t1 r) = h.
Proof. intros Hz. apply in_nwords in Hz. unfold t1. rewrite wrv_len. tauto. Qed.
Lemma t2_n z2 : In z2 (nwords N N) -> length (t2 z2) <= n.
Proof. intros Hz. rewrite t2_length by exact Hz. unfold n. lia. Qed.
Lemma t21_length z2 r : In z2 (nwords N N) -> In r (nwords h b) -> length (t2 z2 ++ t1 r) = n.
Proof. intros H2 H1. rewrite app_length, t2_length, t1_length by assumption. unfold n. lia. Qed.
Lemma tail_all x z : tail ls x z = tail g2 (run g1 x) (tail g1 x z).
Proof. rewrite Hstack at 1. apply tail_app_layers. Qed.

(** ** What has been chosen, and what is the same then: rests z_2, functions z_1. *)
Section Same.
Variables (r2 : list nat) (a : nat) (S2 Z : list (list nat)).
Hypothesis HS2 : forall z2, In z2 S2 -> In z2 (nwords N N).
Hypothesis HZ : forall r, In r Z -> In r (nwords h b).
Hypothesis E2 : forall z2, In z2 S2 -> same_states g1 (t2 z2) (t2 r2).
Hypothesis E1 : forall r r', In r Z -> In r' Z -> same_states g1 (t2 r2 ++ t1 r) (t2 r2 ++ t1 r').
Hypothesis Q1 : forall r r' w, In r Z -> In r' Z -> w < rows -> say1 (tokw (word w)) (t1 r) = say1 (tokw (word w)) (t1 r').
Hypothesis Q2 : forall z2 z2' r x w, In z2 S2 -> In z2' S2 -> In r Z -> w < rows -> In x (t1 r ++ ending a w) -> say1 x (t2 z2) = say1 x (t2 z2').
Lemma states z2 z2' r r' : In z2 S2 -> In z2' S2 -> In r Z -> In r' Z -> same_states g1 (t2 z2 ++ t1 r) (t2 z2' ++ t1 r').
Proof.
  intros H2 H2' H1 H1'. eapply same_states_trans; [apply g1_states, E2, H2|].
  eapply same_states_trans; [apply (E1 r r' H1 H1')|]. apply same_states_sym, g1_states, E2, H2'.
Qed.
(** What tokens hold before the second full layer does not depend on z_2 ... *)
Lemma level_1 z2 z2' r w : In z2 S2 -> In z2' S2 -> In r Z -> w < rows ->
  tail g1 (t2 z2) (t1 r) = tail g1 (t2 z2') (t1 r) /\
  tail g1 (t2 z2 ++ t1 r) (ending a w) = tail g1 (t2 z2' ++ t1 r) (ending a w).
Proof.
  intros H2 H2' H1 Hw. apply app_same; [rewrite !tail_length; reflexivity|]. rewrite <- !tail_app.
  pose proof (proj2 Hsay1 [] (t2 z2) (t2 z2') [] (t1 r ++ ending a w)) as V. cbn [app] in V. rewrite !app_nil_r in V.
  apply V; [apply t2_n, HS2, H2|apply t2_n, HS2, H2'| |].
  - intros x Hx. apply (Q2 z2 z2' r x w); assumption.
  - eapply same_states_trans; [apply E2, H2|apply same_states_sym, E2, H2'].
Qed.
(** ... nor, at the last one, on z_1. *)
Lemma level_1_last z2 z2' r r' w : In z2 S2 -> In z2' S2 -> In r Z -> In r' Z -> w < rows ->
  tail g1 ((t2 z2 ++ t1 r) ++ [tok0 (m - h + a)]) [tokw (word w)] = tail g1 ((t2 z2' ++ t1 r') ++ [tok0 (m - h + a)]) [tokw (word w)].
Proof.
  intros H2 H2' H1 H1' Hw. transitivity (tail g1 ((t2 z2' ++ t1 r) ++ [tok0 (m - h + a)]) [tokw (word w)]).
  - pose proof (proj2 (level_1 z2 z2' r w H2 H2' H1 Hw)) as E. unfold ending in E. rewrite !(tail_app _ _ [_]) in E.
    apply app_same in E; [apply E|rewrite !tail_length; reflexivity].
  - pose proof (proj2 Hsay1 (t2 z2') (t1 r) (t1 r') [tok0 (m - h + a)] [tokw (word w)]) as V. rewrite !app_assoc in V.
    apply V; [rewrite t1_length by (apply HZ, H1); unfold n; lia|rewrite t1_length by (apply HZ, H1'); unfold n; lia| |].
    + intros x [<-|[]]. apply Q1; assumption.
    + apply g1_states, states; assumption.
Qed.

Variables q2 q1 : list nat.
Hypothesis Hq2 : In q2 S2.
Hypothesis Hq1 : In q1 Z.
(** What the last two tokens hold before the second full layer, for all z_1 and w. *)
Definition second_ends : list H := flat_map (fun r => tail g1 (t2 q2 ++ t1 r) [tok0 (m - h + a)]) Z ++
  flat_map (fun w => tail g1 ((t2 q2 ++ t1 q1) ++ [tok0 (m - h + a)]) [tokw (word w)]) (seq 0 rows).
Lemma second_ends_length : length second_ends = length Z + rows.
Proof.
  unfold second_ends. rewrite app_length, !(length_flat_map_const _ 1) by (intros; apply tail_length). rewrite seq_length. lia.
Qed.
Lemma same_answer z2 z2' r w : In z2 S2 -> In z2' S2 -> In r Z -> w < rows ->
  (forall x, In x second_ends -> say2 x (run g1 (t2 z2)) = say2 x (run g1 (t2 z2'))) ->
  same_states g2 (run g1 (t2 z2 ++ t1 r)) (run g1 (t2 z2' ++ t1 r)) ->
  answer read ls (t2 z2 ++ t1 r ++ ending a w) = answer read ls (t2 z2' ++ t1 r ++ ending a w).
Proof.
  intros H2 H2' H1 Hw Hsay Hst. rewrite !answer_holds, (app_assoc (t2 z2)), (app_assoc (t2 z2')).
  rewrite (holds_same ls (t2 z2 ++ t1 r) (t2 z2' ++ t1 r) (ending a w)); [reflexivity|discriminate|].
  destruct (level_1 z2 z2' r w H2 H2' H1 Hw) as [L1 L2]. rewrite !tail_all, <- L2. rewrite !run_tail, <- L1 in Hst |- *.
  apply (proj2 Hsay2 []); [rewrite run_length; apply t2_n, HS2, H2|rewrite run_length; apply t2_n, HS2, H2'| |exact Hst].
  intros x Hx. apply Hsay. unfold ending in Hx. rewrite (tail_app _ _ [_]) in Hx. apply in_app_iff in Hx. apply in_app_iff.
  destruct Hx as [Hx|Hx].
  - left. apply in_flat_map. exists r. split; [exact H1|].
    pose proof (proj2 (level_1 z2 q2 r w H2 Hq2 H1 Hw)) as E. unfold ending in E. rewrite !(tail_app _ _ [_]) in E.
    apply app_same in E; [|rewrite !tail_length; reflexivity]. rewrite <- (proj1 E). exact Hx.
  - right. apply in_flat_map. exists w. split; [apply in_seq; lia|].
    rewrite <- (level_1_last z2 q2 r q1 w H2 Hq2 H1 Hq1 Hw). exact Hx.
Qed.
End Same.

(** ** The count *)
Definition solves_two : Prop := forall a w r z2, a < h -> w < rows -> In r (nwords h b) -> In z2 (nwords N N) ->
  answer read ls (t2 z2 ++ t1 r ++ ending a w) = nth (w * m + nth a r 0) z2 0.
Let d := b1 * rows + s1.
Hypothesis Hd : d <= h.
Variable x : nat.
Hypothesis Hx : 0 < x.
Hypothesis enough : h * (x - 1) < b * (h - d).
Definition all_bits : nat := s1 + b1 * (1 + rows + (2 * (h - 1) + b)) + b2 * (x + rows) + s2 * x.
Definition knowledge_dec : forall u v : list nat * nat, {u = v} + {u <> v}.
Proof. decide equality; [apply Nat.eq_dec|apply (list_eq_dec Nat.eq_dec)]. Defined.
Lemma picked (f : list nat -> nat) (P : list nat -> Prop) l : NoDup l -> (forall v, In v l -> exists r, P r /\ f r = v) ->
  exists Z, length Z = length l /\ Forall P Z /\ map f Z = l.
Proof.
  induction 1 as [|v l Hv Hl IH]; intros Hp; [exists []; auto|].
  destruct IH as [Z [LZ [FZ EZ]]]; [intros u Hu; apply Hp; right; exact Hu|].
  destruct (Hp v (or_introl eq_refl)) as [r [Pr Er]]. exists (r :: Z). simpl. rewrite LZ, EZ, Er. auto.
Qed.
Theorem two_full_bound : solves_two -> N ^ (rows * x) <= 2 ^ all_bits.
Proof.
  intros C. assert (P : 0 < N) by (unfold N; nia).
  destruct (refine Nat.eq_dec (fun z2 => num1 (t2 z2)) (seq 0 (2 ^ s1)) (nwords N N) (nwords_NoDup _ _) (words_nonempty _ _ P))
    as [Sa [ca [NSa [ISa [NeSa [LSa ESa]]]]]]; [intros z2 _; apply in_seq; split; [apply Nat.le_0_l|apply Hnum1]|].
  destruct (some_of Sa NeSa) as [r2 Hr2]. rewrite seq_length, nwords_length in LSa.
  assert (E2 : forall z2, In z2 Sa -> same_states g1 (t2 z2) (t2 r2)).
  { intros z2 H2. apply (proj2 Hnum1); [rewrite !t2_length by auto; reflexivity|apply t2_n; auto|]. rewrite !ESa by assumption. reflexivity. }
  (* what is known of z_1 *)
  set (codes := list_prod (nwords rows (2 ^ b1)) (seq 0 (2 ^ s1))).
  assert (Lcodes : length codes = 2 ^ d) by (unfold codes, d; rewrite prod_length, said_count, seq_length, Nat.pow_add_r; reflexivity).
  set (heard := fun r => (map (fun w => say1 (tokw (word w)) (t1 r)) (seq 0 rows), num1 (t2 r2 ++ t1 r))).
  assert (Hheard : forall r, In (heard r) codes).
  { intros r. apply in_prod; [apply map_in_nwords; [apply seq_length|intros; apply Hsay1]|]. apply in_seq. split; [apply Nat.le_0_l|apply Hnum1]. }
  set (say := fun (_ : nat) r => code knowledge_dec codes (heard r)).
  destruct (cube_for_all 1 h b d say Hd ltac:(lia) ltac:(lia)) as [a [c0 [c1 [c [Ha [Hc0 [Hc1 Hmany]]]]]]].
  { intros w r. unfold say. rewrite <- Lcodes. apply code_lt. rewrite Lcodes. pose proof (Nat.pow_nonzero 2 d). lia. }
  cbn [seq] in Hmany. rewrite lsum_cons, Nat.mul_1_l in Hmany. change (lsum _ []) with 0 in Hmany. rewrite Nat.add_0_r in Hmany.
  set (vs := possible h b (say 0) a c0 c1 (c 0)) in *. assert (Lvs : x <= length vs) by nia.
  assert (Nvs : NoDup (firstn x vs)) by (apply firstn_NoDup, filter_NoDup, seq_NoDup).
  destruct (picked (fun r => nth a r 0) (fun r => In r (nwords h b) /\ say 0 r = c 0 /\ forall i, i < h -> In (i, nth i r 0) (spots h b a c0 c1))
              (firstn x vs) Nvs) as [Z [LZ [FZ EZ]]].
  { intros v Hv. apply in_firstn in Hv. destruct (possible_word h b (say 0) a c0 c1 (c 0) v Ha Hc0 Hc1 Hv) as [_ [r [Hr [Hs [Hn Hi]]]]].
    exists r. auto. }
  rewrite firstn_length, Nat.min_l in LZ by exact Lvs. rewrite Forall_forall in FZ.
  assert (NeZ : Z <> []) by (intros E; rewrite E in LZ; simpl in LZ; lia). destruct (some_of Z NeZ) as [q1 Hq1].
  assert (WZ : forall r, In r Z -> In r (nwords h b)) by (intros r Hr; apply FZ, Hr).
  assert (EH : forall r r', In r Z -> In r' Z -> heard r = heard r').
  { intros r r' Hr Hr'. destruct (FZ r Hr) as [_ [K _]], (FZ r' Hr') as [_ [K' _]]. unfold say in K, K'.
    rewrite <- (code_nth knowledge_dec codes (heard r) (heard r)) by apply Hheard.
    rewrite <- (code_nth knowledge_dec codes (heard r') (heard r)) by apply Hheard. rewrite K, K'. reflexivity. }
  (* replies of z_2 at the first layer *)
  set (raw := ([tok0 (m - h + a)] ++ map (fun w => tokw (word w)) (seq 0 rows)) ++ map (fun q => tok 0 (m - h + fst q) (snd q)) (spots h b a c0 c1)).
  assert (Lraw : length raw = 1 + rows + (2 * (h - 1) + b)).
  { unfold raw. rewrite !app_length, !map_length, seq_length, spots_length by exact Ha. reflexivity. }
  destruct (refine nats_dec (fun z2 => map (fun y => say1 y (t2 z2)) raw) (nwords (1 + rows + (2 * (h - 1) + b)) (2 ^ b1)) Sa NSa NeSa)
    as [S2 [cb [NS2 [IS2 [NeS2 [LS2 ES2]]]]]]; [intros z2 _; rewrite <- Lraw; apply said_in; intros; apply Hsay1|].
  rewrite said_count in LS2. destruct (some_of S2 NeS2) as [q2 Hq2].
  assert (InRaw : forall r w y, In r Z -> w < rows -> In y (t1 r ++ ending a w) -> In y raw).
  { intros r w y Hr Hw Hy. unfold raw. apply in_app_iff in Hy. destruct Hy as [Hy|Hy].
    - apply in_app_iff. right. destruct (FZ r Hr) as [Wr [_ Hi]]. apply in_nwords in Wr. destruct Wr as [Lr _].
      assert (G : forall l j, In y (wrv (tok 0) j l) -> exists i, i < length l /\ y = tok 0 (j + i) (nth i l 0)).
      { clear. induction l as [|v l IH]; intros j Hj; [destruct Hj|]. destruct Hj as [<-|Hj].
        - exists 0. simpl. split; [lia|]. f_equal. lia.
        - destruct (IH (S j) Hj) as [i [Hi ->]]. exists (S i). simpl. split; [lia|]. f_equal. lia. }
      destruct (G r (m - h) Hy) as [i [Hil ->]]. apply in_map_iff. exists (i, nth i r 0). split; [reflexivity|]. apply Hi. lia.
    - apply in_app_iff. left. destruct Hy as [<-|[<-|[]]]; [left; reflexivity|right]. apply in_map_iff. exists w. split; [reflexivity|]. apply in_seq. lia. }
  assert (Hans : forall z2 z2' r w, In z2 S2 -> In z2' S2 -> In r Z -> w < rows ->
    (forall y, In y (second_ends a Z q2 q1) -> say2 y (run g1 (t2 z2)) = say2 y (run g1 (t2 z2'))) ->
    same_states g2 (run g1 (t2 z2 ++ t1 r)) (run g1 (t2 z2' ++ t1 r)) ->
    answer read ls (t2 z2 ++ t1 r ++ ending a w) = answer read ls (t2 z2' ++ t1 r ++ ending a w)).
  { intros z2 z2' r w H2 H2' Hr Hw. apply (same_answer r2 a S2 Z) with (q2 := q2) (q1 := q1); auto.
    - intros u u' Hu Hu'. apply (proj2 Hnum1); [rewrite !t21_length by auto; reflexivity|rewrite t21_length by auto; apply le_n|].
      exact (f_equal snd (EH u u' Hu Hu')).
    - intros u u' v Hu Hu' Hv. apply (ext_in_map (f_equal fst (EH u u' Hu Hu'))). apply in_seq. lia.
    - intros u u' r' y v Hu Hu' Hr' Hv Hy. pose proof (ES2 u Hu) as G. rewrite <- (ES2 u' Hu') in G.
      apply (ext_in_map G y). apply (InRaw r' v); assumption. }
  (* the rest of z_2 *)
  set (se := second_ends a Z q2 q1). assert (Lse : length se = x + rows) by (unfold se; rewrite second_ends_length, LZ; reflexivity).
  set (I := map (fun r => nth a r 0) Z). assert (NI : NoDup I) by (unfold I; rewrite EZ; exact Nvs).
  assert (LI : length I = x) by (unfold I; rewrite map_length; exact LZ).
  assert (BI : forall v, In v I -> v < m).
  { intros v Hv. apply in_map_iff in Hv. destruct Hv as [r [<- Hr]]. apply Nat.lt_le_trans with b; [apply (nwords_nth h); [apply WZ, Hr|exact Ha]|apply Hb]. }
  destruct (at_all_spec rows m I NI BI) as [Lw [Nw Hw']].
  assert (Hw : forall e, In e (at_all rows m I) -> e < N)
    by (intros e He; apply (Nat.lt_le_trans _ (rows * m)); [apply Hw', He|apply Nat.mul_le_mono_r, Hrows]). set (wanted := at_all rows m I) in *. rewrite LI in Lw.
  pose proof (others_count wanted N Nw Hw) as Lfree. set (free := filter (fun e => negb (memb e wanted)) (seq 0 N)) in *. rewrite Lw in Lfree.
  set (tr := fun z2 => (map (fun y => say2 y (run g1 (t2 z2))) se, (map (fun r => num2 (run g1 (t2 z2 ++ t1 r))) Z, map (fun e => nth e z2 0) free))).
  assert (WS2 : forall z2, In z2 S2 -> In z2 (nwords N N)) by (intros u Hu; apply ISa, IS2, Hu).
  assert (Count : length S2 <= 2 ^ (b2 * (x + rows)) * (2 ^ (s2 * x) * N ^ length free)).
  { replace (2 ^ (b2 * (x + rows)) * _)
      with (length (list_prod (nwords (x + rows) (2 ^ b2)) (list_prod (nwords x (2 ^ s2)) (nwords (length free) N))))
      by (rewrite !prod_length, !said_count, nwords_length; reflexivity).
    apply (pigeon tr); [exact NS2| |].
    - intros z2 H2. unfold tr. repeat apply in_prod.
      + rewrite <- Lse. apply said_in. intros; apply Hsay2.
      + apply map_in_nwords; [exact LZ|]. intros; apply Hnum2.
      + apply map_in_nwords; [reflexivity|]. intros e He. apply filter_In in He. destruct He as [He _]. apply in_seq in He.
        apply (nwords_nth N); [apply WS2, H2|apply He].
    - intros u u' Hu Hu' E. injection E as Ea Eb Ec. pose proof (WS2 u Hu) as Wu. pose proof (WS2 u' Hu') as Wu'.
      apply (nth_ext_on 0 u u' N); [apply in_nwords in Wu; tauto|apply in_nwords in Wu'; tauto|]. intros e He.
      destruct (memb e wanted) eqn:We; [|apply (ext_in_map Ec), filter_In; split; [apply in_seq; split; [apply Nat.le_0_l|exact He]|rewrite We; reflexivity]].
      apply memb_true, in_map_iff in We. destruct We as [[w v] [<- G]]. apply in_prod_iff in G. destruct G as [Gw Gv]. apply in_seq in Gw.
      apply in_map_iff in Gv. destruct Gv as [r [Ev Hr]]. cbn [fst snd] in *. destruct Gw as [_ Gw].
      pose proof (C a w r u Ha Gw (WZ r Hr) Wu) as Cu. pose proof (C a w r u' Ha Gw (WZ r Hr) Wu') as Cu'.
      rewrite Ev in Cu, Cu'. rewrite <- Cu, <- Cu'. apply Hans; auto.
      + intros y Hy. apply (ext_in_map Ea y Hy).
      + apply (proj2 Hnum2); [rewrite !run_length, !t21_length by auto; reflexivity|rewrite run_length, t21_length by auto; apply le_n|].
        apply (ext_in_map Eb r Hr). }
  assert (PF : 0 < N ^ length free) by (pose proof (Nat.pow_nonzero N (length free)); lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N ^ length free) PF). rewrite <- Nat.pow_add_r.
  transitivity (N ^ N); [apply Nat.pow_le_mono_r; [apply Nat.neq_0_lt_0, P|exact Lfree]|].
  transitivity (2 ^ s1 * (2 ^ (b1 * (1 + rows + (2 * (h - 1) + b))) * (2 ^ (b2 * (x + rows)) * (2 ^ (s2 * x) * N ^ length free)))).
  - etransitivity; [exact LSa|]. apply Nat.mul_le_mono_l. etransitivity; [exact LS2|]. apply Nat.mul_le_mono_l. exact Count.
  - apply Nat.eq_le_incl. unfold all_bits. rewrite !Nat.pow_add_r. ring.
Qed.
End Two.

(** ** Stacks: no linear layer before the second full one. *)
Lemma one_first {H} (ls : list (layer H)) : kappa ls < phi ls -> exists f, upto 0 ls = [] /\ segment 1 ls = [f].
Proof.
  intros HK. unfold kappa, depth_rule.kappa, depth_rule.reach in HK. rewrite phi_full in HK.
  destruct (depth_rule.early 0 (map kind ls)) eqn:Ee; [lia|].
  destruct ls as [|f ls']; [unfold phi in HK; simpl in HK; lia|]. simpl in Ee. unfold kind at 1 in Ee.
  destruct (is_full f) eqn:Ff; [|discriminate].
  assert (U : upto 0 ls' = []).
  { destruct ls' as [|f' ls'']; [reflexivity|]. simpl in *. unfold kind at 1 in Ee. destruct (is_full f'); [reflexivity|discriminate]. }
  exists f. unfold segment. cbn [upto]. rewrite Ff, U. auto.
Qed.
Theorem two_full_errs {H} tok tok0 tokw read (ls : list (layer H)) m n1 rows h b b1 b2 s1 s2 x :
  0 < h <= m -> 0 < b <= m -> 0 < rows <= n1 -> b1 * rows + s1 <= h -> 0 < x -> h * (x - 1) < b * (h - (b1 * rows + s1)) ->
  2 ^ all_bits rows h b b1 b2 s1 s2 x < (n1 * m) ^ (rows * x) ->
  phi ls <= 2 -> kappa ls < phi ls -> level_size ls (size m [1; n1]) b1 b2 0 s1 s2 -> errs tok tok0 tokw read ls m [1; n1].
Proof.
  intros Hh Hb Hn1 Hd Hx Henough Hlt HF HK [Hw1 [Hw2 [_ [Hs1 Hs2]]]]. apply errs_unless. intros C.
  assert (En : size m [1; n1] = n1 * m + m) by (cbn [size]; rewrite Nat.mul_1_l; lia). rewrite En in *.
  destruct (voice_exists ls 0 _ b1 Hw1) as [say1 V1]. destruct (voice_exists ls 1 _ b2 Hw2) as [say2 V2].
  destruct (state_code _ _ _ Hs1) as [num1 N1]. destruct (state_code _ _ _ Hs2) as [num2 N2].
  destruct (one_first ls HK) as [f [U0 U1]]. pose proof (two_segments ls HF) as Hstack. rewrite U0 in Hstack. cbn [app] in Hstack.
  assert (St : forall r r' y, same_states (segment 1 ls) r r' -> same_states (segment 1 ls) (r ++ y) (r' ++ y)).
  { rewrite U1. intros r r' y [E _]. simpl. split; [|exact I]. rewrite !after_app, E. reflexivity. }
  apply (Nat.lt_irrefl (2 ^ all_bits rows h b b1 b2 s1 s2 x)). eapply Nat.lt_le_trans; [exact Hlt|].
  apply (two_full_bound ls m n1 rows h b Hh Hb Hn1 b1 b2 s1 s2 Hstack say1 say2 V1 V2 num1 num2 N1 N2 St tok tok0 tokw read Hd x Hx Henough).
  intros a w r z2 Ha Hw Hr Hz. rewrite <- (text_is m h). rewrite C; [| lia | |].
  - cbn [chain word]. rewrite Nat.mul_0_l, Nat.add_0_l, !Nat.mul_1_l. do 2 f_equal. unfold fixed. rewrite app_nth2; rewrite repeat_length; [|lia].
    f_equal. lia.
  - unfold word. repeat (apply in_parts; split; [lia|]). left. reflexivity.
  - apply in_tables. rewrite Nat.mul_1_l. split.
    + apply in_nwords in Hr. destruct Hr as [Lr Fr]. apply in_nwords. unfold fixed. rewrite app_length, repeat_length, Lr. split; [lia|].
      apply Forall_app. split; [apply Forall_forall; intros v Hv; apply repeat_spec in Hv; lia|]. eapply Forall_impl; [|exact Fr]. intros v Hv. simpl in Hv. lia.
    + apply in_tables. split; [exact Hz|left; reflexivity].
Qed.

(** ** At numbers *)
Local Open Scope N_scope.
Definition bitsN (rows h b b1 b2 s1 s2 x : N) : N := s1 + b1 * (1 + rows + (2 * (h - 1) + b)) + b2 * (x + rows) + s2 * x.
Definition chk_two_full (b1 b2 s1 s2 m n1 rows h b x p q : N) : bool :=
  (0 <? h) && (h <=? m) && (0 <? b) && (b <=? m) && (0 <? rows) && (rows <=? n1) && (b1 * rows + s1 <=? h) &&
  (0 <? x) && (h * (x - 1) <? b * (h - (b1 * rows + s1))) && power_exceeds (bitsN rows h b b1 b2 s1 s2 x) (rows * x) (n1 * m) p q.
Theorem cannot_two_full b1 b2 s1 s2 m n1 rows h b x p q : chk_two_full b1 b2 s1 s2 m n1 rows h b x p q = true ->
  let ns := map N.to_nat [1; n1] in
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)), (phi ls <= 2)%nat -> (kappa ls < phi ls)%nat ->
  level_size ls (size (N.to_nat m) ns) (N.to_nat b1) (N.to_nat b2) 0 (N.to_nat s1) (N.to_nat s2) ->
  errs tok tok0 tokw read ls (N.to_nat m) ns.
Proof.
  intros D ns H tok tok0 tokw read ls HF HK HS. unfold chk_two_full in D. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le in D.
  destruct D as [[[[[[[[[D1 D2] D3] D4] D5] D5'] D6] D7] D8] D9]. apply power_exceeds_sound in D9. unfold bitsN in D9.
  apply to_nat_lt in D1, D3, D5, D7, D8. apply to_nat_le in D2, D4, D5', D6.
  repeat first [rewrite N2Nat.inj_add in * | rewrite N2Nat.inj_mul in * | rewrite N2Nat.inj_sub in *].
  change (N.to_nat 0) with 0%nat in *. change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in *.
  unfold ns. cbn [map]. change (N.to_nat 1) with 1%nat.
  apply (two_full_errs tok tok0 tokw read ls (N.to_nat m) (N.to_nat n1) (N.to_nat rows) (N.to_nat h) (N.to_nat b) (N.to_nat b1) (N.to_nat b2)
    (N.to_nat s1) (N.to_nat s2) (N.to_nat x)); auto.
Qed.

(** ** Examples
    Two full layers of sums of 14 bits, and states of 14 bits behind them, at 2,970 tokens; eight heads of size 64 in
    16 bits, twice, and two linear layers of as many, at 2^42.9 tokens, where many_hops_check.v needs 2^72. *)
Example two_full_at_14_bits := cannot_two_full 14 14 0 14 297 9 9 297 297 171 831 73 ltac:(vm_compute; reflexivity).
Example two_full_8_64_16 := cannot_two_full 8448 8448 0 1064960 288564321 28842 28842 288564321 288564321 44907105 515 12 ltac:(vm_compute; reflexivity).
