(** Three hops by two full layers and linear layers anywhere, by a route of its own, sharper than many_hops.v: one
    entry z_0, x1 functions z_1 that take x1 values there, x2 functions z_2 that are chosen together (joint.v).
    What makes it sharper:
    - only the last y of the n_1 parts of z_2 vary, and the others are a constant end of what z_3 says; of the n_2
      parts of z_3 so many [rows] are asked for;
    - once the states that cross from z_3 to z_2 are fixed, those before the first full layer are a function of
      z_2, and then of z_1, alone: choosing z_1 costs z_2 and z_3 nothing;
    - of what happens at the tokens of z_2 and z_1 only the states behind them reach w, and states are fixed once
      for each pair of functions, where replies would be fixed for each token.
    Bits are counted by level: b1, b2 of a reply at the first and at the second full layer; s0, s1, s2 of all
    states before, between and after them. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state rectangle cover joint many_hops many_hops_stack
  many_hops_thoughts segments.
From Limen Require each_w_stack.

Section Three.
Context {H : Type}.
Variable ls : list (layer H).
Variables m n1 n2 y rows : nat.
Hypothesis Hm : 0 < m.
Hypothesis Hy : 0 < y <= n1.
Hypothesis Hrows : 0 < rows <= n2.
Let N1 := n1 * m.
Let N2 := n2 * N1.
Let n := N2 + N1 + m.
Variables b1 b2 s0 s1 s2 : nat.
Let A := upto 0 ls.
Let g1 := segment 1 ls.
Let g2 := segment 2 ls.
Hypothesis Hstack : ls = (A ++ g1) ++ g2.
Variables say1 say2 : H -> list H -> nat.
Hypothesis Hsay1 : voice g1 n b1 say1.
Hypothesis Hsay2 : voice g2 n b2 say2.
Variables num0 num1 num2 : list H -> nat.
Definition numbers (g : list (layer H)) (s : nat) (num : list H -> nat) : Prop := (forall xs, num xs < 2 ^ s) /\
  forall xs xs', length xs = length xs' -> length xs <= n -> num xs = num xs' -> same_states g xs xs'.
Hypothesis Hnum0 : numbers A s0 num0.
Hypothesis Hnum1 : numbers g1 s1 num1.
Hypothesis Hnum2 : numbers g2 s2 num2.

(** ** The text *)
Variable tok : nat -> nat -> nat -> H.
Variables (tok0 : nat -> H) (tokw : list nat -> H) (read : H -> nat).
Definition still : list nat := repeat 0 ((n1 - y) * m).
Definition t3 (z3 : list nat) : list H := wrv (tok 2) 0 z3 ++ wrv (tok 1) 0 still.
Definition t2 (g : list nat) : list H := wrv (tok 1) ((n1 - y) * m) g.
Definition t1 (z1 : list nat) : list H := wrv (tok 0) 0 z1.
Definition word (p : nat * nat) : list nat := [0; n1 - y + fst p; snd p].
Lemma text_is z p z1 g z3 :
  input tok tok0 tokw z (word p) [z1; still ++ g; z3] = t3 z3 ++ t2 g ++ t1 z1 ++ [tok0 z] ++ [tokw (word p)].
Proof.
  unfold input, t3, t2, t1. cbn [text]. unfold block. rewrite (wrv_app (tok 1) still g). unfold still at 2.
  rewrite repeat_length, <- !app_assoc. reflexivity.
Qed.
Lemma t3_length z3 : In z3 (nwords N2 N2) -> length (t3 z3) = N2 + (n1 - y) * m.
Proof. intros Hz. apply in_nwords in Hz. unfold t3, still. rewrite app_length, !wrv_len, repeat_length. lia. Qed.
Lemma t2_length g : In g (nwords (y * m) N1) -> length (t2 g) = y * m.
Proof. intros Hz. apply in_nwords in Hz. unfold t2. rewrite wrv_len. tauto. Qed.
Lemma t1_length z1 : In z1 (nwords m m) -> length (t1 z1) = m.
Proof. intros Hz. apply in_nwords in Hz. unfold t1. rewrite wrv_len. tauto. Qed.
Lemma parts_of_n1 : (n1 - y) * m + y * m = N1.
Proof. unfold N1. rewrite <- Nat.mul_add_distr_r. f_equal. lia. Qed.

Lemma t3_n z3 : In z3 (nwords N2 N2) -> length (t3 z3) <= n.
Proof. intros Hz. rewrite t3_length by exact Hz. pose proof parts_of_n1. unfold n. lia. Qed.
Lemma t32_length z3 g : In z3 (nwords N2 N2) -> In g (nwords (y * m) N1) -> length (t3 z3 ++ t2 g) = N2 + N1.
Proof. intros H3 H2. rewrite app_length, t3_length, t2_length by assumption. pose proof parts_of_n1. lia. Qed.
Lemma t321_length z3 g z1 : In z3 (nwords N2 N2) -> In g (nwords (y * m) N1) -> In z1 (nwords m m) ->
  length ((t3 z3 ++ t2 g) ++ t1 z1) = n.
Proof. intros H3 H2 H1. rewrite app_length, t32_length, t1_length by assumption. reflexivity. Qed.

(** ** Layers before the first full one *)
Lemma A_linear l : In l A -> is_full l = false. Proof. apply upto_0. Qed.
Lemma early x x' z : same_states A x x' -> tail A x z = tail A x' z /\ same_states A (x ++ z) (x' ++ z).
Proof. apply linear_tokens, A_linear. Qed.
Lemma tail_level x z : tail (A ++ g1) x z = tail g1 (run A x) (tail A x z).
Proof. apply tail_app_layers. Qed.
Lemma tail_all x z : tail ls x z = tail g2 (run (A ++ g1) x) (tail (A ++ g1) x z).
Proof. rewrite Hstack at 1. apply tail_app_layers. Qed.
(** ** What has been chosen, and what is the same then
    S3: rests z_3; G2: functions z_2; Z1: functions z_1; all of them with the same states before the first full
    layer.  z: the entry that z_0 asks for. *)
Section Same.
Variables (r3 r2 r1 : list nat) (z : nat) (S3 G2 Z1 : list (list nat)).
Hypothesis HS3 : forall z3, In z3 S3 -> In z3 (nwords N2 N2).
Hypothesis HG2 : forall g, In g G2 -> In g (nwords (y * m) N1).
Hypothesis HZ1 : forall z1, In z1 Z1 -> In z1 (nwords m m).
Hypothesis E3 : forall z3, In z3 S3 -> same_states A (t3 z3) (t3 r3) /\ same_states g1 (run A (t3 z3)) (run A (t3 r3)).
Hypothesis E2 : forall g, In g G2 -> same_states A (t3 r3 ++ t2 g) (t3 r3 ++ t2 r2).
Hypothesis E1 : forall z1, In z1 Z1 -> same_states A ((t3 r3 ++ t2 r2) ++ t1 z1) ((t3 r3 ++ t2 r2) ++ t1 r1).
Lemma here3 z3 x : In z3 S3 -> tail A (t3 z3) x = tail A (t3 r3) x /\ same_states A (t3 z3 ++ x) (t3 r3 ++ x).
Proof. intros Hz. apply early, E3, Hz. Qed.
Lemma here2 z3 g x : In z3 S3 -> In g G2 -> tail A (t3 z3 ++ t2 g) x = tail A (t3 r3 ++ t2 r2) x /\
  same_states A ((t3 z3 ++ t2 g) ++ x) ((t3 r3 ++ t2 r2) ++ x).
Proof. intros Hz Hg. apply early. eapply same_states_trans; [apply here3, Hz|apply E2, Hg]. Qed.
Lemma here1 z3 g z1 x : In z3 S3 -> In g G2 -> In z1 Z1 ->
  tail A ((t3 z3 ++ t2 g) ++ t1 z1) x = tail A ((t3 r3 ++ t2 r2) ++ t1 r1) x.
Proof. intros Hz Hg H1. apply early. eapply same_states_trans; [apply here2; assumption|apply E1, H1]. Qed.

Lemma base1 g z1 x : In g G2 -> In z1 Z1 -> tail A ((t3 r3 ++ t2 g) ++ t1 z1) x = tail A ((t3 r3 ++ t2 r2) ++ t1 r1) x.
Proof. intros Hg H1. apply early. eapply same_states_trans; [apply early, E2, Hg|apply E1, H1]. Qed.

(** What the last two tokens hold before the first full layer, for all w. *)
Definition asks : list (nat * nat) := list_prod (seq 0 y) (seq 0 rows).
Definition ending (p : nat * nat) : list H := [tok0 z] ++ [tokw (word p)].
Definition both (B : list (layer H)) (x : list H) : list H :=
  tail B x [tok0 z] ++ flat_map (fun p => tail B (x ++ [tok0 z]) [tokw (word p)]) asks.
Lemma both_in B x p h : In p asks -> In h (tail B x (ending p)) -> In h (both B x).
Proof.
  intros Hp Hh. unfold ending in Hh. rewrite tail_app in Hh. apply in_app_iff in Hh. unfold both. apply in_app_iff.
  destruct Hh as [Hh|Hh]; [auto|right]. apply in_flat_map. eauto.
Qed.
Lemma both_length B x : length (both B x) = 1 + y * rows.
Proof.
  unfold both. rewrite app_length, tail_length, (length_flat_map_const _ 1) by (intros; apply tail_length).
  unfold asks. rewrite prod_length, !seq_length. simpl. lia.
Qed.
Definition first_ends : list H := both A ((t3 r3 ++ t2 r2) ++ t1 r1).
Definition first_1 : list H := flat_map (fun z1 => tail A (t3 r3 ++ t2 r2) (t1 z1)) Z1.
Hypothesis Q2 : forall g g' h, In g G2 -> In g' G2 -> In h first_ends ->
  say1 h (tail A (t3 r3) (t2 g)) = say1 h (tail A (t3 r3) (t2 g')).
Hypothesis Q3 : forall z3 z3' h, In z3 S3 -> In z3' S3 -> In h (first_ends ++ first_1) ->
  say1 h (run A (t3 z3)) = say1 h (run A (t3 z3')).

(** Some of them: whatever states stand between the full layers, they are the same behind each z_1. *)
Variables (Z2 S : list (list nat)).
Hypothesis HZ2 : incl Z2 G2.
Hypothesis HS : incl S S3.
Hypothesis M : forall g g' z3 z3' z1, In g Z2 -> In g' Z2 -> In z3 S -> In z3' S -> In z1 Z1 ->
  same_states g1 (run A ((t3 z3 ++ t2 g) ++ t1 z1)) (run A ((t3 z3' ++ t2 g') ++ t1 z1)).
Definition first_2 : list H := flat_map (fun g => tail A (t3 r3) (t2 g)) Z2.
Hypothesis Q6 : forall z3 z3' h, In z3 S -> In z3' S -> In h first_2 -> say1 h (run A (t3 z3)) = say1 h (run A (t3 z3')).

Lemma t3_short z3 : In z3 S -> length (t3 z3) <= n.
Proof. intros Hz. rewrite t3_length by (apply HS3, HS, Hz). unfold n. pose proof parts_of_n1. lia. Qed.
(** What tokens hold before the second full layer does not depend on z_3 ... *)
Lemma level_1 z3 z3' g z1 p : In z3 S -> In z3' S -> In g Z2 -> In z1 Z1 -> In p asks ->
  tail (A ++ g1) (t3 z3) (t2 g ++ t1 z1 ++ ending p) = tail (A ++ g1) (t3 z3') (t2 g ++ t1 z1 ++ ending p).
Proof.
  intros Hz Hz' Hg H1 Hp. rewrite !tail_level. set (x := t2 g ++ t1 z1 ++ ending p).
  rewrite (proj1 (here3 z3 x (HS _ Hz))), (proj1 (here3 z3' x (HS _ Hz'))).
  pose proof (proj2 Hsay1 [] (run A (t3 z3)) (run A (t3 z3')) [] (tail A (t3 r3) x)) as V.
  cbn [app] in V. rewrite !app_nil_r in V. apply V; [rewrite run_length; apply t3_short, Hz|rewrite run_length; apply t3_short, Hz'| |].
  - intros h Hh. unfold x in Hh. rewrite !tail_app in Hh. apply in_app_iff in Hh. destruct Hh as [Hh|Hh].
    { apply Q6; auto. apply in_flat_map. eauto. }
    apply Q3; [apply HS, Hz|apply HS, Hz'|]. apply in_app_iff. apply in_app_iff in Hh. destruct Hh as [Hh|Hh].
    + right. rewrite (proj1 (early _ _ (t1 z1) (E2 g (HZ2 _ Hg)))) in Hh. apply in_flat_map. eauto.
    + left. rewrite (base1 g z1 (ending p) (HZ2 _ Hg) H1) in Hh. apply (both_in _ _ p); assumption.
  - eapply same_states_trans; [apply E3, HS, Hz|]. apply same_states_sym, E3, HS, Hz'.
Qed.
Lemma level_1_parts z3 z3' g z1 p : In z3 S -> In z3' S -> In g Z2 -> In z1 Z1 -> In p asks ->
  tail (A ++ g1) (t3 z3) (t2 g ++ t1 z1) = tail (A ++ g1) (t3 z3') (t2 g ++ t1 z1) /\
  tail (A ++ g1) ((t3 z3 ++ t2 g) ++ t1 z1) (ending p) = tail (A ++ g1) ((t3 z3' ++ t2 g) ++ t1 z1) (ending p).
Proof.
  intros Hz Hz' Hg H1 Hp. pose proof (level_1 z3 z3' g z1 p Hz Hz' Hg H1 Hp) as E.
  rewrite !(app_assoc (t2 g)), !(tail_app _ _ (t2 g ++ t1 z1)) in E. rewrite <- !(app_assoc _ (t2 g)).
  apply app_same; [rewrite !tail_length; reflexivity|exact E].
Qed.
(** ... nor, at the last two tokens, on z_2. *)
Lemma level_1_ends z3 z3' g g' z1 p : In z3 S -> In z3' S -> In g Z2 -> In g' Z2 -> In z1 Z1 -> In p asks ->
  tail (A ++ g1) ((t3 z3 ++ t2 g) ++ t1 z1) (ending p) = tail (A ++ g1) ((t3 z3' ++ t2 g') ++ t1 z1) (ending p).
Proof.
  intros Hz Hz' Hg Hg' H1 Hp. rewrite (proj2 (level_1_parts z3 z3' g z1 p Hz Hz' Hg H1 Hp)).
  rewrite !tail_level, (here1 z3' g z1 _ (HS _ Hz') (HZ2 _ Hg) H1), (here1 z3' g' z1 _ (HS _ Hz') (HZ2 _ Hg') H1).
  assert (Run : forall g, In g Z2 -> run A ((t3 z3' ++ t2 g) ++ t1 z1)
    = run A (t3 z3') ++ tail A (t3 z3') (t2 g) ++ tail A (t3 r3 ++ t2 r2) (t1 z1)).
  { intros f Hf. rewrite run_tail, run_tail, (proj1 (here2 z3' f (t1 z1) (HS _ Hz') (HZ2 _ Hf))). symmetry. apply app_assoc. }
  pose proof (M g g' z3' z3' z1 Hg Hg' Hz' Hz' H1) as Ms. rewrite (Run g Hg), (Run g' Hg') in Ms |- *.
  apply (proj2 Hsay1).
  - rewrite tail_length, t2_length by (apply HG2, HZ2, Hg). unfold n. pose proof parts_of_n1. lia.
  - rewrite tail_length, t2_length by (apply HG2, HZ2, Hg'). unfold n. pose proof parts_of_n1. lia.
  - intros h Hh. rewrite !(proj1 (here3 z3' _ (HS _ Hz'))). apply Q2; [apply HZ2, Hg|apply HZ2, Hg'|].
    apply (both_in _ _ p h Hp). exact Hh.
  - exact Ms.
Qed.

(** What the last two tokens hold before the second full layer, for all z_1 and w. *)
Variables (q3 q2 : list nat).
Hypothesis Hq3 : In q3 S.
Hypothesis Hq2 : In q2 Z2.
Definition second_ends : list H := flat_map (fun z1 => both (A ++ g1) ((t3 q3 ++ t2 q2) ++ t1 z1)) Z1.
Lemma same_answer z3 z3' g z1 p : In z3 S -> In z3' S -> In g Z2 -> In z1 Z1 -> In p asks ->
  (forall h, In h second_ends -> say2 h (run (A ++ g1) (t3 z3)) = say2 h (run (A ++ g1) (t3 z3'))) ->
  same_states g2 (run (A ++ g1) ((t3 z3 ++ t2 g) ++ t1 z1)) (run (A ++ g1) ((t3 z3' ++ t2 g) ++ t1 z1)) ->
  answer read ls (t3 z3 ++ t2 g ++ t1 z1 ++ ending p) = answer read ls (t3 z3' ++ t2 g ++ t1 z1 ++ ending p).
Proof.
  intros Hz Hz' Hg H1 Hp Hsay Hst. rewrite !answer_holds. rewrite (app_assoc (t2 g)), (app_assoc (t3 z3)), (app_assoc (t3 z3')).
  rewrite (holds_same ls (t3 z3 ++ t2 g ++ t1 z1) (t3 z3' ++ t2 g ++ t1 z1) (ending p)); [reflexivity|discriminate|].
  rewrite !(app_assoc _ (t2 g)), !tail_all. rewrite <- (proj2 (level_1_parts z3 z3' g z1 p Hz Hz' Hg H1 Hp)).
  rewrite <- !(app_assoc _ (t2 g)), !(run_tail (A ++ g1) _ (t2 g ++ t1 z1)) in Hst |- *.
  rewrite <- (proj1 (level_1_parts z3 z3' g z1 p Hz Hz' Hg H1 Hp)) in Hst |- *.
  apply (proj2 Hsay2 []); [rewrite run_length; apply t3_short, Hz|rewrite run_length; apply t3_short, Hz'| |exact Hst].
  intros h Hh. apply Hsay. apply in_flat_map. exists z1. split; [exact H1|]. apply (both_in _ _ p h Hp).
  rewrite <- (level_1_ends z3 q3 g q2 z1 p Hz Hq3 Hg Hq2 H1 Hp). rewrite <- app_assoc. exact Hh.
Qed.
End Same.

(** ** The count *)
Definition solves_three : Prop := forall p z z1 g z3, In p asks -> z < m -> In z1 (nwords m m) -> In g (nwords (y * m) N1) ->
  In z3 (nwords N2 N2) ->
  answer read ls (t3 z3 ++ t2 g ++ t1 z1 ++ ending z p) = nth (snd p * N1 + nth (fst p * m + nth z z1 0) g 0) z3 0.
Variables x1 x2 k : nat.
Hypothesis Hx1 : 0 < x1.
Hypothesis Hx2 : 0 < x2.
Hypothesis Hk : k <= N1.
Let Aq := 1 + y * rows.
Hypothesis enough_values : (x1 - 1) ^ m * 2 ^ s0 < m ^ m.
Hypothesis enough_tuples :
  2 * (binom N1 k * k ^ (x2 * (y * x1))) * (2 * 2 ^ (x1 * s1) * 2 ^ (s0 + b1 * Aq)) ^ x2 <= N1 ^ (x2 * (y * x1)).
Lemma N1_pos : 0 < N1. Proof. unfold N1. nia. Qed.
Lemma N2_pos : 0 < N2. Proof. pose proof N1_pos. unfold N2. nia. Qed.
Definition all_bits : nat :=
  (s0 + s1) + b1 * (Aq + x1 * m) + ((x1 * s1 + 1) * (x2 + 1) + 1) + b1 * (x2 * (y * m)) + b2 * (x1 * Aq) + s2 * (x2 * x1).
Theorem three_hops_bound : solves_three -> N2 ^ (rows * S k) <= 2 ^ all_bits.
Proof.
  intros C. pose proof N1_pos as P1. pose proof N2_pos as P2.
  (* z_3: states *)
  destruct (refine Nat.eq_dec (fun z3 => num0 (t3 z3)) (seq 0 (2 ^ s0)) (nwords N2 N2) (nwords_NoDup _ _) (words_nonempty _ _ P2))
    as [Sa [ca [NSa [ISa [NeSa [LSa ESa]]]]]]; [intros x _; apply in_seq; split; [apply Nat.le_0_l|apply Hnum0]|].
  destruct (refine Nat.eq_dec (fun z3 => num1 (run A (t3 z3))) (seq 0 (2 ^ s1)) Sa NSa NeSa)
    as [Sb [cb [NSb [ISb [NeSb [LSb ESb]]]]]]; [intros x _; apply in_seq; split; [apply Nat.le_0_l|apply Hnum1]|].
  destruct (some_of Sb NeSb) as [r3 Hr3b]. rewrite seq_length in LSa, LSb. rewrite nwords_length in LSa.
  assert (W3 : forall z3, In z3 Sb -> In z3 (nwords N2 N2)) by (intros x Hx; apply ISa, ISb, Hx).
  assert (E3 : forall z3, In z3 Sb -> same_states A (t3 z3) (t3 r3) /\ same_states g1 (run A (t3 z3)) (run A (t3 r3))).
  { intros z3 Hz. split.
    - apply (proj2 Hnum0); [rewrite !t3_length by auto; reflexivity|apply t3_n; auto|].
      rewrite (ESa z3), (ESa r3) by (apply ISb; assumption). reflexivity.
    - apply (proj2 Hnum1); [rewrite !run_length, !t3_length by auto; reflexivity|rewrite run_length; apply t3_n; auto|].
      rewrite (ESb z3), (ESb r3) by assumption. reflexivity. }
  (* z_2: states *)
  destruct (refine Nat.eq_dec (fun g => num0 (t3 r3 ++ t2 g)) (seq 0 (2 ^ s0)) (nwords (y * m) N1) (nwords_NoDup _ _) (words_nonempty _ _ P1))
    as [Ga [da [NGa [IGa [NeGa [LGa EGa]]]]]]; [intros x _; apply in_seq; split; [apply Nat.le_0_l|apply Hnum0]|].
  destruct (some_of Ga NeGa) as [r2 Hr2]. rewrite seq_length, nwords_length in LGa.
  assert (E2 : forall g, In g Ga -> same_states A (t3 r3 ++ t2 g) (t3 r3 ++ t2 r2)).
  { intros g Hg. apply (proj2 Hnum0); [rewrite !t32_length by auto; reflexivity|rewrite t32_length by auto; apply Nat.le_add_r|].
    rewrite (EGa g), (EGa r2) by assumption. reflexivity. }
  (* z_1: states, and an entry with many values *)
  destruct (refine Nat.eq_dec (fun z1 => num0 ((t3 r3 ++ t2 r2) ++ t1 z1)) (seq 0 (2 ^ s0)) (nwords m m) (nwords_NoDup _ _) (words_nonempty _ _ Hm))
    as [Fa [ea [NFa [IFa [_ [LFa EFa]]]]]]; [intros x _; apply in_seq; split; [apply Nat.le_0_l|apply Hnum0]|].
  rewrite seq_length, nwords_length in LFa.
  destruct (entry_with_many m m (2 ^ s0) x1 Fa IFa NFa Hm LFa enough_values) as [z [Z1 [Hz [LZ1 [IZ1 NZ1]]]]].
  assert (NeZ1 : Z1 <> []) by (intros E; rewrite E in LZ1; simpl in LZ1; lia). destruct (some_of Z1 NeZ1) as [r1 Hr1].
  assert (W1 : forall z1, In z1 Z1 -> In z1 (nwords m m)) by (intros x Hx; apply IFa, IZ1, Hx).
  assert (E1 : forall z1, In z1 Z1 -> same_states A ((t3 r3 ++ t2 r2) ++ t1 z1) ((t3 r3 ++ t2 r2) ++ t1 r1)).
  { intros z1 H1. apply (proj2 Hnum0); [rewrite !t321_length by auto; reflexivity|rewrite t321_length by auto; apply le_n|].
    rewrite (EFa z1), (EFa r1) by (apply IZ1; assumption). reflexivity. }
  set (ends := first_ends r3 r2 r1 z). assert (Lends : length ends = Aq) by apply both_length.
  (* z_2: replies to the last two tokens *)
  destruct (refine nats_dec (fun g => map (fun h => say1 h (tail A (t3 r3) (t2 g))) ends) (nwords Aq (2 ^ b1)) Ga NGa NeGa)
    as [G2 [db [NG2 [IG2 [NeG2 [LG2 EG2]]]]]]; [intros g _; rewrite <- Lends; apply said_in; intros; apply Hsay1|].
  rewrite said_count in LG2.
  (* z_3: replies to the last two tokens and to z_1 *)
  set (f1 := first_1 r3 r2 Z1). assert (Lf1 : length f1 = x1 * m).
  { unfold f1, first_1. rewrite (length_flat_map_const _ m); [rewrite LZ1; reflexivity|]. intros z1 H1. rewrite tail_length. apply t1_length, W1, H1. }
  destruct (refine nats_dec (fun z3 => map (fun h => say1 h (run A (t3 z3))) (ends ++ f1)) (nwords (Aq + x1 * m) (2 ^ b1)) Sb NSb NeSb)
    as [S3 [cc [NS3 [IS3 [NeS3 [LS3 ES3]]]]]].
  { intros z3 _. rewrite <- Lends, <- Lf1, <- app_length. apply said_in. intros; apply Hsay1. }
  rewrite said_count in LS3.
  (* both: states between the full layers *)
  set (f5 := fun p : list nat * list nat => map (fun z1 => num1 (run A ((t3 (snd p) ++ t2 (fst p)) ++ t1 z1))) Z1).
  assert (NeP : list_prod G2 S3 <> []).
  { destruct G2 as [|g G]; [congruence|]. destruct S3 as [|q S']; [congruence|discriminate]. }
  destruct (popular_in nats_dec f5 (nwords x1 (2 ^ s1)) (list_prod G2 S3) NeP) as [cd Hcd].
  { intros p _. unfold f5. apply map_in_nwords; [exact LZ1|]. intros; apply Hnum1. }
  rewrite said_count, (Nat.mul_comm s1), prod_length in Hcd.
  set (Rel := fun g z3 => if nats_dec (f5 (g, z3)) cd then true else false).
  assert (dense : length G2 * length S3 <= 2 ^ (x1 * s1) * lsum (fun r => length (filter (fun g => Rel g r) G2)) S3).
  { etransitivity; [exact Hcd|]. apply Nat.mul_le_mono_l. rewrite <- double_count. apply Nat.eq_le_incl. clear.
    induction G2 as [|g G IH]; [reflexivity|]. rewrite lsum_cons. simpl. rewrite filter_app, app_length, IH. f_equal.
    clear. induction S3 as [|r S IH]; [reflexivity|]. simpl. unfold Rel at 1. destruct (nats_dec (f5 (g, r)) cd); simpl; rewrite IH; reflexivity. }
  (* the entries of z_2 that can be asked for *)
  set (I1 := map (fun z1 => nth z z1 0) Z1). assert (LI1 : length I1 = x1) by (unfold I1; rewrite map_length; exact LZ1).
  assert (BI1 : forall v, In v I1 -> v < m).
  { intros v Hv. apply in_map_iff in Hv. destruct Hv as [z1 [<- H1]]. apply (nwords_nth m); [apply W1, H1|exact Hz]. }
  destruct (at_all_spec y m I1 NZ1 BI1) as [Lps [Nps Hps]]. set (ps := at_all y m I1) in *. rewrite LI1 in Lps.
  assert (WG2 : incl G2 (nwords (y * m) N1)) by (intros g Hg; apply IGa, IG2, Hg).
  assert (K2 : N1 ^ (y * m) <= 2 ^ (s0 + b1 * Aq) * length G2).
  { etransitivity; [exact LGa|]. etransitivity; [apply Nat.mul_le_mono_l, LG2|]. rewrite Nat.mul_assoc, <- Nat.pow_add_r. apply le_n. }
  assert (PS3 : 0 < length S3) by (destruct S3; [congruence|simpl; lia]).
  assert (tuples : 2 * (binom N1 k * k ^ (x2 * length ps)) * (2 * 2 ^ (x1 * s1) * 2 ^ (s0 + b1 * Aq)) ^ x2 <= N1 ^ (x2 * length ps))
    by (rewrite Lps; exact enough_tuples).
  destruct (joint (y * m) N1 x2 k (2 ^ (x1 * s1)) (2 ^ (s0 + b1 * Aq)) ps Nps Hps G2 WG2 NG2 K2 Hk S3 NS3 Rel dense PS3 P1 tuples)
    as [Z2 [I2 [S [LZ2 [IZ2 [LI2 [NI2 [HI2 [NS [IS [LS HRel]]]]]]]]]]].
  assert (NeZ2 : Z2 <> []) by (intros E; rewrite E in LZ2; simpl in LZ2; lia). destruct (some_of Z2 NeZ2) as [q2 Hq2].
  assert (NeS : S <> []) by (intros E; rewrite E in LS; simpl in LS; lia).
  assert (Mid : forall g g' z3 z3' z1, In g Z2 -> In g' Z2 -> In z3 S -> In z3' S -> In z1 Z1 ->
    same_states g1 (run A ((t3 z3 ++ t2 g) ++ t1 z1)) (run A ((t3 z3' ++ t2 g') ++ t1 z1))).
  { intros g g' z3 z3' z1 Hg Hg' H3 H3' H1.
    apply (proj2 Hnum1); [rewrite !run_length, !t321_length by auto; reflexivity|rewrite run_length, t321_length by auto; apply le_n|].
    assert (E : forall g z3, In g Z2 -> In z3 S -> f5 (g, z3) = cd).
    { intros f x Hf Hx. specialize (HRel f x Hf Hx). unfold Rel in HRel. destruct (nats_dec (f5 (f, x)) cd); [assumption|discriminate]. }
    pose proof (E g z3 Hg H3) as G. rewrite <- (E g' z3' Hg' H3') in G. apply (ext_in_map G z1 H1). }
  (* z_3: replies to z_2 *)
  set (f2 := first_2 r3 Z2). assert (Lf2 : length f2 = x2 * (y * m)).
  { unfold f2, first_2. rewrite (length_flat_map_const _ (y * m)); [rewrite LZ2; reflexivity|]. intros g Hg. rewrite tail_length. apply t2_length, WG2, IZ2, Hg. }
  destruct (refine nats_dec (fun z3 => map (fun h => say1 h (run A (t3 z3))) f2) (nwords (x2 * (y * m)) (2 ^ b1)) S NS NeS)
    as [Sf [ce [NSf [ISf [NeSf [LSf ESf]]]]]].
  { intros z3 _. rewrite <- Lf2. apply said_in. intros; apply Hsay1. }
  rewrite said_count in LSf. destruct (some_of Sf NeSf) as [q3 Hq3].
  assert (Hans : forall z3 z3' g z1 p, In z3 Sf -> In z3' Sf -> In g Z2 -> In z1 Z1 -> In p asks ->
    (forall h, In h (second_ends z Z1 q3 q2) -> say2 h (run (A ++ g1) (t3 z3)) = say2 h (run (A ++ g1) (t3 z3'))) ->
    same_states g2 (run (A ++ g1) ((t3 z3 ++ t2 g) ++ t1 z1)) (run (A ++ g1) ((t3 z3' ++ t2 g) ++ t1 z1)) ->
    answer read ls (t3 z3 ++ t2 g ++ t1 z1 ++ ending z p) = answer read ls (t3 z3' ++ t2 g ++ t1 z1 ++ ending z p)).
  { assert (Q2 : forall g g' h, In g G2 -> In g' G2 -> In h ends -> say1 h (tail A (t3 r3) (t2 g)) = say1 h (tail A (t3 r3) (t2 g'))).
    { intros g g' h Hg Hg' Hh. pose proof (EG2 g Hg) as G. rewrite <- (EG2 g' Hg') in G. apply (ext_in_map G h Hh). }
    assert (Q3 : forall z3 z3' h, In z3 S3 -> In z3' S3 -> In h (ends ++ f1) -> say1 h (run A (t3 z3)) = say1 h (run A (t3 z3'))).
    { intros a a' h Ha Ha' Hh. pose proof (ES3 a Ha) as G. rewrite <- (ES3 a' Ha') in G. apply (ext_in_map G h Hh). }
    assert (Q6 : forall z3 z3' h, In z3 Sf -> In z3' Sf -> In h f2 -> say1 h (run A (t3 z3)) = say1 h (run A (t3 z3'))).
    { intros a a' h Ha Ha' Hh. pose proof (ESf a Ha) as G. rewrite <- (ESf a' Ha') in G. apply (ext_in_map G h Hh). }
    intros z3 z3' g z1 p H3 H3' Hg H1 Hp.
    apply (same_answer r3 r2 r1 z S3 G2 Z1) with (Z2 := Z2) (S := Sf) (q3 := q3) (q2 := q2); auto.
    intros a Ha. apply IS, ISf, Ha. }
  (* the rest of z_3 *)
  set (se := second_ends z Z1 q3 q2). assert (Lse : length se = x1 * Aq).
  { unfold se, second_ends. rewrite (length_flat_map_const _ Aq); [rewrite LZ1; reflexivity|]. intros; apply both_length. }
  assert (BI2 : forall v, In v I2 -> v < N1).
  { intros v Hv. destruct (HI2 v Hv) as [g [p [Hg [Hp <-]]]]. apply (nwords_nth (y * m)); [apply WG2, IZ2, Hg|apply Hps, Hp]. }
  destruct (at_all_spec rows N1 I2 NI2 BI2) as [Lw [Nw Hw']].
  assert (Hw : forall e, In e (at_all rows N1 I2) -> e < N2)
    by (intros e He; apply (Nat.lt_le_trans _ (rows * N1)); [apply Hw', He|apply Nat.mul_le_mono_r, Hrows]).
  set (wanted := at_all rows N1 I2) in *. rewrite LI2 in Lw.
  pose proof (others_count wanted N2 Nw Hw) as Lfree. set (free := filter (fun e => negb (memb e wanted)) (seq 0 N2)) in *. rewrite Lw in Lfree.
  set (tr := fun z3 => (map (fun h => say2 h (run (A ++ g1) (t3 z3))) se,
    (map (fun q => num2 (run (A ++ g1) ((t3 z3 ++ t2 (fst q)) ++ t1 (snd q)))) (list_prod Z2 Z1), map (fun e => nth e z3 0) free))).
  assert (WSf : forall z3, In z3 Sf -> In z3 (nwords N2 N2)) by (intros a Ha; apply W3, IS3, IS, ISf, Ha).
  assert (Count : length Sf <= 2 ^ (b2 * (x1 * Aq)) * (2 ^ (s2 * (x2 * x1)) * N2 ^ length free)).
  { replace (2 ^ (b2 * (x1 * Aq)) * _)
      with (length (list_prod (nwords (x1 * Aq) (2 ^ b2)) (list_prod (nwords (x2 * x1) (2 ^ s2)) (nwords (length free) N2))))
      by (rewrite !prod_length, !said_count, nwords_length; reflexivity).
    apply (pigeon tr); [exact NSf| |].
    - intros z3 H3. unfold tr. repeat apply in_prod.
      + rewrite <- Lse. apply said_in. intros; apply Hsay2.
      + apply map_in_nwords; [rewrite prod_length, LZ1, LZ2; reflexivity|]. intros; apply Hnum2.
      + apply map_in_nwords; [reflexivity|]. intros e He. apply filter_In in He. destruct He as [He _]. apply in_seq in He.
        apply (nwords_nth N2); [apply WSf, H3|lia].
    - intros a a' Ha Ha' E. injection E as Ea Eb Ec. pose proof (WSf a Ha) as Wa. pose proof (WSf a' Ha') as Wa'.
      apply (nth_ext_on 0 a a' N2); [apply in_nwords in Wa; tauto|apply in_nwords in Wa'; tauto|]. intros e He.
      destruct (memb e wanted) eqn:We; [|apply (ext_in_map Ec), filter_In; split; [apply in_seq; lia|rewrite We; reflexivity]].
      apply memb_true, in_map_iff in We. destruct We as [[w v] [<- G]]. apply in_prod_iff in G. destruct G as [Gw Gv].
      destruct (HI2 v Gv) as [g [p [Hg [Hp Ev]]]]. apply in_map_iff in Hp. destruct Hp as [[w1 i] [<- Gp]]. apply in_prod_iff in Gp.
      destruct Gp as [Gw1 Gi]. apply in_map_iff in Gi. destruct Gi as [z1 [Ei H1]]. cbn [fst snd] in *.
      assert (Hp : In (w1, w) asks) by (apply in_prod; assumption).
      pose proof (C (w1, w) z z1 g a Hp Hz (W1 z1 H1) (WG2 g (IZ2 g Hg)) Wa) as Ca.
      pose proof (C (w1, w) z z1 g a' Hp Hz (W1 z1 H1) (WG2 g (IZ2 g Hg)) Wa') as Ca'.
      cbn [fst snd] in Ca, Ca'. rewrite Ei, Ev in Ca, Ca'. rewrite <- Ca, <- Ca'. apply Hans; auto.
      + intros h Hh. apply (ext_in_map Ea h Hh).
      + apply (proj2 Hnum2); [rewrite !run_length, !t321_length by auto; reflexivity|rewrite run_length, t321_length by auto; apply le_n|].
        apply (ext_in_map Eb (g, z1)). apply in_prod; assumption. }
  (* together *)
  assert (PF : 0 < N2 ^ length free) by (pose proof (Nat.pow_nonzero N2 (length free)); lia).
  apply (Nat.mul_le_mono_pos_r _ _ (N2 ^ length free) PF). rewrite <- Nat.pow_add_r.
  transitivity (N2 ^ N2); [apply Nat.pow_le_mono_r; lia|].
  assert (EM : 2 * (2 * 2 ^ (x1 * s1)) ^ (x2 + 1) = 2 ^ ((x1 * s1 + 1) * (x2 + 1) + 1)).
  { rewrite (Nat.add_1_r ((x1 * s1 + 1) * (x2 + 1))), Nat.pow_succ_r', (Nat.pow_mul_r 2 (x1 * s1 + 1)), (Nat.add_1_r (x1 * s1)), Nat.pow_succ_r'.
    reflexivity. }
  rewrite EM in LS.
  transitivity (2 ^ s0 * (2 ^ s1 * (2 ^ (b1 * (Aq + x1 * m)) * (2 ^ ((x1 * s1 + 1) * (x2 + 1) + 1) * (2 ^ (b1 * (x2 * (y * m))) *
    (2 ^ (b2 * (x1 * Aq)) * (2 ^ (s2 * (x2 * x1)) * N2 ^ length free))))))).
  - etransitivity; [exact LSa|]. apply Nat.mul_le_mono_l. etransitivity; [exact LSb|]. apply Nat.mul_le_mono_l.
    etransitivity; [exact LS3|]. apply Nat.mul_le_mono_l. etransitivity; [exact LS|]. apply Nat.mul_le_mono_l.
    etransitivity; [exact LSf|]. apply Nat.mul_le_mono_l. exact Count.
  - apply Nat.eq_le_incl. unfold all_bits. rewrite !Nat.pow_add_r. ring.
Qed.
End Three.

(** ** Stacks of at most two full layers *)
Theorem three_hops_errs {H} tok tok0 tokw read (ls : list (layer H)) m n1 n2 y rows b1 b2 s0 s1 s2 x1 x2 k :
  0 < m -> 0 < y <= n1 -> 0 < rows <= n2 -> 0 < x1 -> 0 < x2 -> k <= n1 * m ->
  (x1 - 1) ^ m * 2 ^ s0 < m ^ m ->
  2 * (binom (n1 * m) k * k ^ (x2 * (y * x1))) * (2 * 2 ^ (x1 * s1) * 2 ^ (s0 + b1 * (1 + y * rows))) ^ x2
    <= (n1 * m) ^ (x2 * (y * x1)) ->
  2 ^ all_bits m y rows b1 b2 s0 s1 s2 x1 x2 < (n2 * (n1 * m)) ^ (rows * S k) ->
  phi ls <= 2 -> level_size ls (size m [1; n1; n2]) b1 b2 s0 s1 s2 -> errs tok tok0 tokw read ls m [1; n1; n2].
Proof.
  intros Hm Hy Hn2 Hx1 Hx2 Hk Hval Htup Hlt HF [Hw1 [Hw2 [Hs0 [Hs1 Hs2]]]]. apply errs_unless. intros C.
  assert (En : size m [1; n1; n2] = n2 * (n1 * m) + n1 * m + m) by (cbn [size]; rewrite Nat.mul_1_l; lia). rewrite En in *.
  destruct (voice_exists ls 0 _ b1 Hw1) as [say1 V1]. destruct (voice_exists ls 1 _ b2 Hw2) as [say2 V2].
  destruct (state_code _ _ _ Hs0) as [num0 N0]. destruct (state_code _ _ _ Hs1) as [num1 N1]. destruct (state_code _ _ _ Hs2) as [num2 N2].
  apply (Nat.lt_irrefl (2 ^ all_bits m y rows b1 b2 s0 s1 s2 x1 x2)). eapply Nat.lt_le_trans; [exact Hlt|].
  apply (three_hops_bound ls m n1 n2 y rows Hm Hy Hn2 b1 b2 s0 s1 s2 (two_segments ls HF) say1 say2 V1 V2 num0 num1 num2 N0 N1 N2
           tok tok0 tokw read x1 x2 k Hx1 Hx2 Hk Hval Htup).
  intros [w1 w2] z z1 g z3 Hp Hz H1 H2 H3. apply in_prod_iff in Hp. rewrite !in_seq in Hp. cbn [fst snd].
  unfold ending. rewrite <- text_is with (n1 := n1) (y := y).
  rewrite C; [| exact Hz | |].
  - cbn [chain word]. rewrite Nat.mul_0_l, Nat.add_0_l, !Nat.mul_1_l. f_equal. f_equal.
    unfold still. cbn [fst snd]. rewrite app_nth2; rewrite repeat_length, Nat.mul_add_distr_r; [f_equal; lia|lia].
  - unfold word. cbn [fst snd]. repeat (apply in_parts; split; [lia|]). left. reflexivity.
  - apply in_tables. rewrite Nat.mul_1_l. split; [exact H1|]. apply in_tables. split.
    + apply in_nwords in H2. destruct H2 as [L2 F2]. apply in_nwords. unfold still. rewrite app_length, repeat_length, L2, <- Nat.mul_add_distr_r. split; [f_equal; lia|].
      apply Forall_app. split; [|exact F2]. apply Forall_forall. intros v Hv. apply repeat_spec in Hv. subst v. nia.
    + apply in_tables. split; [exact H3|left; reflexivity].
Qed.

(** ** At numbers *)
(** Fractions: e1/c1 at least s0/m, to keep x1 values; a/b at most log2(N1/k), e/c at least log2(N1/(N1 - k)), for more
    than k values of i_2; p/q at most log2 N2. *)
Local Open Scope N_scope.
Definition bitsN (m y rows b1 b2 s0 s1 s2 x1 x2 : N) : N :=
  (s0 + s1) + b1 * (1 + y * rows + x1 * m) + ((x1 * s1 + 1) * (x2 + 1) + 1) + b1 * (x2 * (y * m)) + b2 * (x1 * (1 + y * rows)) + s2 * (x2 * x1).
Definition chk_three_hops (b1 b2 s0 s1 s2 m n1 n2 y rows x1 x2 k c1 e1 a b c e p q : N) : bool :=
  (0 <? m) && (0 <? y) && (y <=? n1) && (0 <? rows) && (rows <=? n2) && (0 <? x1) && (0 <? x2) && (k <? n1 * m) && (k <=? x2 * (y * x1)) &&
  ((x1 - 1) ^ c1 * 2 ^ e1 <? m ^ c1) && (s0 * c1 <=? e1 * m) &&
  (2 ^ a * k ^ b <=? (n1 * m) ^ b) && ((n1 * m) ^ c <=? 2 ^ e * (n1 * m - k) ^ c) &&
  ((x1 * s1 + 1 + (s0 + b1 * (1 + y * rows)) + 1) * x2 * (b * c) + (n1 * m - k) * (e * b) <? (x2 * (y * x1) - k) * (a * c)) &&
  power_exceeds (bitsN m y rows b1 b2 s0 s1 s2 x1 x2) (rows * (k + 1)) (n2 * (n1 * m)) p q.

Lemma bitsN_nat m y rows b1 b2 s0 s1 s2 x1 x2 : N.to_nat (bitsN m y rows b1 b2 s0 s1 s2 x1 x2)
  = all_bits (N.to_nat m) (N.to_nat y) (N.to_nat rows) (N.to_nat b1) (N.to_nat b2) (N.to_nat s0) (N.to_nat s1) (N.to_nat s2)
      (N.to_nat x1) (N.to_nat x2).
Proof.
  unfold bitsN, all_bits. repeat first [rewrite N2Nat.inj_add | rewrite N2Nat.inj_mul]. reflexivity.
Qed.
Theorem cannot_three_hops b1 b2 s0 s1 s2 m n1 n2 y rows x1 x2 k c1 e1 a b c e p q :
  chk_three_hops b1 b2 s0 s1 s2 m n1 n2 y rows x1 x2 k c1 e1 a b c e p q = true ->
  let ns := map N.to_nat [1; n1; n2] in
  forall (H : Type) tok tok0 tokw read (ls : list (layer H)), (phi ls <= 2)%nat ->
  level_size ls (size (N.to_nat m) ns) (N.to_nat b1) (N.to_nat b2) (N.to_nat s0) (N.to_nat s1) (N.to_nat s2) ->
  errs tok tok0 tokw read ls (N.to_nat m) ns.
Proof.
  intros D ns H tok tok0 tokw read ls HF HS. unfold chk_three_hops in D. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le in D.
  destruct D as [[[[[[[[[[[[[[D1 D2] D3] D4] D4'] D5] D6] D7] D8] D9] D10] D11] D12] D13] D14].
  apply power_exceeds_sound in D14. rewrite bitsN_nat in D14.
  apply to_nat_lt in D1, D2, D4, D5, D6, D7, D9, D13. apply to_nat_le in D3, D4', D8, D10, D11, D12.
  repeat first [rewrite N2Nat.inj_add in * | rewrite N2Nat.inj_mul in * | rewrite N2Nat.inj_sub in * | rewrite N2Nat.inj_pow in *].
  change (N.to_nat 0) with 0%nat in *. change (N.to_nat 1) with 1%nat in *. change (N.to_nat 2) with 2%nat in *.
  unfold ns. cbn [map]. change (N.to_nat 1) with 1%nat.
  apply (three_hops_errs tok tok0 tokw read ls (N.to_nat m) (N.to_nat n1) (N.to_nat n2) (N.to_nat y) (N.to_nat rows) (N.to_nat b1) (N.to_nat b2)
    (N.to_nat s0) (N.to_nat s1) (N.to_nat s2) (N.to_nat x1) (N.to_nat x2) (N.to_nat k)); auto.
  - apply Nat.lt_le_incl, D7.
  - apply (each_w_stack.kept_gap _ _ _ _ (N.to_nat c1) (N.to_nat e1)); assumption.
  - set (S := (N.to_nat x1 * N.to_nat s1 + 1 + (N.to_nat s0 + N.to_nat b1 * (1 + N.to_nat y * N.to_nat rows)))%nat) in *.
    pose proof (cover_bits (S + 1) (N.to_nat x2) 1 (N.to_nat n1 * N.to_nat m) (N.to_nat k) (N.to_nat x2 * (N.to_nat y * N.to_nat x1))
      (N.to_nat a) (N.to_nat b) (N.to_nat c) (N.to_nat e) D7 D8 D11 D12) as Cov. rewrite !Nat.mul_1_l, !Nat.mul_1_r, Nat.pow_1_r in Cov.
    apply Nat.lt_le_incl. eapply Nat.le_lt_trans; [|apply Cov, D13].
    replace (2 * 2 ^ (N.to_nat x1 * N.to_nat s1) * 2 ^ (N.to_nat s0 + N.to_nat b1 * (1 + N.to_nat y * N.to_nat rows)))%nat with (2 ^ S)%nat.
    + rewrite <- !Nat.pow_mul_r, Nat.mul_add_distr_r, Nat.mul_1_l, Nat.pow_add_r.
      assert (P : (2 <= 2 ^ N.to_nat x2)%nat) by (rewrite <- (Nat.pow_1_r 2) at 1; apply Nat.pow_le_mono_r; lia).
      transitivity (2 ^ (S * N.to_nat x2) * 2 * (binom (N.to_nat n1 * N.to_nat m) (N.to_nat k) * N.to_nat k ^ (N.to_nat x2 * (N.to_nat y * N.to_nat x1))))%nat;
        [apply Nat.eq_le_incl; ring|]. apply Nat.mul_le_mono_r, Nat.mul_le_mono_l, P.
    + unfold S. rewrite <- Nat.pow_succ_r', <- Nat.pow_add_r. f_equal. lia.
  - rewrite Nat.add_1_r in D14. exact D14.
Qed.

(** ** Examples
    Two full layers and linear layers between: sums of 14 bits and states of 14 bits at each level do not do three
    hops at 2^22 tokens.  Eight heads of size 64 in 16 bits and a linear layer of as many before, between and after:
    not at 2^65 tokens, where many_hops_check.v needs 2^172.  Finer fractions reach 2^18.1 and 2^63.2. *)
Example three_hops_at_14_bits :=
  cannot_three_hops 14 14 14 14 14 256 1024 16 25 16 244 27 44769 14 1 28 11 11 3 22 1 ltac:(vm_compute; reflexivity).
Example three_hops_8_64_16 := cannot_three_hops 8448 8448 532480 532480 532480
  8388608 4294967296 1024 568625 1024 7866972 1791 2623983305584935 11 1 34 9 9 1 65 1 ltac:(vm_compute; reflexivity).
(** Sums of twice as many bits, and nothing is proved. *)
Fail Example three_hops_at_28_bits :=
  cannot_three_hops 28 14 14 14 14 256 1024 16 25 16 244 27 44769 14 1 28 11 11 3 22 1 ltac:(vm_compute; reflexivity).
