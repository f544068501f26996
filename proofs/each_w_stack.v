(** Token by token, two kinds of networks that are conversations of each_w.v:
    - two layers of softmax heads, each with linear heads beside it or not; without softmax
      heads in the first layer, it is any number of linear layers;
    - one layer of softmax heads, with linear heads beside it or not, and one token of
      thought: any function of all that the last token of the text holds. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state two_hops_stack each_w composition_depth.

(** Sums over tokens, exact: in any monoid. *)
Record monoid := {
  carrier :> Type; add : carrier -> carrier -> carrier; zero : carrier;
  add_assoc : forall a b c, add a (add b c) = add (add a b) c;
  add_zero : forall a, add zero a = a }.
Arguments add {m}. Arguments zero {m}.
Definition total {C : monoid} {T} (f : T -> C) (l : list T) : C :=
  fold_right (fun t c => add (f t) c) zero l.
Lemma total_app {C : monoid} {T} (f : T -> C) l l' : total f (l ++ l') = add (total f l) (total f l').
Proof.
  induction l as [|t l IH]; simpl; [symmetry; apply add_zero|]. fold (total f l) (total f (l ++ l')).
  rewrite IH. apply add_assoc.
Qed.
(** ** The first layer, the same in both *)
Record first_layer := {
  X : Type; Y : Type; Q1 : Type; C1 : monoid; Sp : Type;
  Sp_dec : forall a b : Sp, {a = b} + {a <> b};
  C1_dec : forall a b : C1, {a = b} + {a <> b};
  pre : Sp -> X -> Sp * Y; sp0 : Sp;                  (* linear heads, or linear layers *)
  query1 : X -> Q1; contrib1 : Q1 -> X -> C1;         (* softmax heads: queries and keys are raw *)
  e2 : nat -> nat -> X; e1 : nat -> nat -> X; e0 : nat -> X; ew : nat -> X }.

Section First.
Variable F : first_layer.
Definition told (x : X F) (past : list (X F)) : C1 F := total (contrib1 F (query1 F x)) past.
Definition after (s : Sp F) (xs : list (X F)) : Sp F := fst (mealy (pre F) s xs).

(** s bits of linear state, w bits for a sum over at most n tokens. *)
Definition reply_bits (n w : nat) : Prop :=
  exists Lw : list (C1 F), length Lw <= 2 ^ w /\ forall x past, length past <= n -> In (told x past) Lw.

Variables m n1 y h b : nat.
Let E := y * h.
Let off := m - E.
Definition values (r : list nat) : list nat := map (fun i => value h b i (nth i r 0)) (seq 0 E).
Definition table1 (r : list nat) : list nat := repeat 0 off ++ values r.
Definition P (z2 : list nat) : list (X F) := wrv (e2 F) 0 z2 ++ wrv (e1 F) 0 (repeat 0 off).
Definition T (r : list nat) : list (X F) :=
  map (fun i => e1 F (off + i) (value h b i (nth i r 0))) (seq 0 E).
Definition x0 (i : nat) : X F := e0 F (off + i).
Definition text (z0 : nat) (z1 z2 : list nat) : list (X F) :=
  wrv (e2 F) 0 z2 ++ wrv (e1 F) 0 z1 ++ [e0 F z0].

Lemma wrv_map {A} (e : nat -> nat -> A) (f : nat -> nat) k : forall j i,
  wrv e i (map f (seq j k)) = map (fun a => e (i + (a - j)) (f a)) (seq j k).
Proof.
  induction k as [|k IH]; intros j i; [reflexivity|]. simpl. rewrite Nat.sub_diag, Nat.add_0_r, IH.
  f_equal. apply map_ext_in. intros a Ha. apply in_seq in Ha. f_equal. lia.
Qed.
Lemma text_parts i r z2 : text (off + i) (table1 r) z2 = P z2 ++ T r ++ [x0 i].
Proof.
  unfold text, table1, P, T, values. rewrite wrv_app, repeat_length, wrv_map, <- !app_assoc. do 3 f_equal.
  apply map_ext. intros a. f_equal. lia.
Qed.
Lemma table1_nth i r : i < E -> nth (off + i) (table1 r) 0 = value h b i (nth i r 0).
Proof.
  intros Hi. unfold table1. rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
  replace (off + i - off) with i by lia. unfold values.
  rewrite (nth_indep _ 0 (value h b 0 (nth 0 r 0))) by (rewrite map_length, seq_length; exact Hi).
  rewrite (map_nth (fun i => value h b i (nth i r 0))), seq_nth by exact Hi. reflexivity.
Qed.
Lemma table1_legal r : 0 < h -> 0 < y -> y * b <= m -> 0 < b -> E <= m -> In r (nwords E b) ->
  In (table1 r) (nwords m m).
Proof.
  intros Hh Hy Hyb Hb HE Hr. apply in_nwords. unfold table1. rewrite app_length, repeat_length.
  unfold values. rewrite map_length, seq_length. split; [unfold off; lia|]. apply Forall_app. split.
  - apply Forall_forall. intros v Hv. apply repeat_spec in Hv. nia.
  - apply Forall_forall. intros v Hv. apply in_map_iff in Hv. destruct Hv as [i [<- Hi]]. apply in_seq in Hi.
    pose proof (nwords_nth E b r i Hr ltac:(lia)). unfold value.
    assert (i / h < y) by (apply Nat.div_lt_upper_bound; unfold E in Hi; lia). nia.
Qed.

(** What w learns of z_1 at level 0. *)
Variables (Ls : list (Sp F)) (Lw : list (C1 F)).
Let n := n1 * m + m.
Hypothesis HE : E <= m.
Hypothesis Hafter : forall xs, length xs = n -> In (after (sp0 F) xs) Ls.
Hypothesis Htold : forall x past, length past <= n -> In (told x past) Lw.
Definition pair_dec : forall a c : Sp F * C1 F, {a = c} + {a <> c}.
Proof. decide equality; [apply C1_dec|apply Sp_dec]. Defined.
Definition seen (v : nat) (r : list nat) (q : Sp F) : Sp F * C1 F := (after q (T r), told (ew F v) (T r)).
Definition known (v : nat) (r : list nat) (q : Sp F) : nat := code pair_dec (list_prod Ls Lw) (seen v r q).
Definition back (k : nat) : Sp F * C1 F := nth k (list_prod Ls Lw) (sp0 F, zero).

Lemma T_length r : length (T r) = E. Proof. unfold T. rewrite map_length. apply seq_length. Qed.
Lemma P_length z2 : In z2 (nwords (n1 * m) (n1 * m)) -> length (P z2) = n1 * m + off.
Proof.
  intros H. apply in_nwords in H. destruct H as [L _].
  unfold P. rewrite app_length, !wrv_length, repeat_length, L. reflexivity.
Qed.
Lemma back_known v r z2 : In z2 (nwords (n1 * m) (n1 * m)) ->
  back (known v r (after (sp0 F) (P z2))) = seen v r (after (sp0 F) (P z2)).
Proof.
  intros H. apply code_nth. apply in_prod; [|apply Htold; rewrite T_length; unfold n; lia].
  unfold after. rewrite <- mealy_app_fst. apply Hafter. rewrite app_length, P_length, T_length by exact H.
  unfold n, off. lia.
Qed.
Lemma told_in x z2 : In z2 (nwords (n1 * m) (n1 * m)) -> In (told x (P z2)) Lw.
Proof. intros H. apply Htold. rewrite P_length by exact H. unfold n, off. lia. Qed.

Lemma known_lt s w v r q : length Ls <= 2 ^ s -> length Lw <= 2 ^ w -> 0 < length Ls ->
  known v r q < 2 ^ (w + s).
Proof.
  intros HLs HLw P1.
  assert (L : length (list_prod Ls Lw) <= 2 ^ (w + s)).
  { rewrite prod_length, Nat.pow_add_r, Nat.mul_comm. apply Nat.mul_le_mono; assumption. }
  eapply Nat.lt_le_trans; [apply code_lt|exact L]. rewrite prod_length.
  assert (P2 : In (told (ew F 0) []) Lw) by (apply Htold; simpl; lia).
  assert (0 < length Lw) by (destruct Lw; [destruct P2|simpl; lia]). nia.
Qed.
(** w's own sum, from what it is told of z_2 and of z_1. *)
Lemma told_parts x z2 r xs : told x (P z2 ++ T r ++ xs) = add (told x (P z2)) (add (told x (T r)) (told x xs)).
Proof. unfold told. rewrite !total_app. reflexivity. Qed.
Lemma after_parts q z2 r xs : after q (P z2 ++ T r ++ xs) = after (after (after q (P z2)) (T r)) xs.
Proof. unfold after. rewrite !mealy_app_fst. reflexivity. Qed.
End First.

(** ** Two layers *)
Record two_layers := {
  first :> first_layer;
  Z : Type; V : Type; Q2 : Type; C2 : monoid; Sq : Type;
  Sq_dec : forall a b : Sq, {a = b} + {a <> b};
  join : X first -> Y first -> C1 first -> Z;         (* what a token holds after layer 1 *)
  post : Sq -> Z -> Sq * V; sq0 : Sq;                 (* linear heads of layer 2 *)
  query2 : Z -> Q2; contrib2 : Q2 -> Z -> C2;         (* softmax heads of layer 2 *)
  read : Z -> V -> C2 -> nat }.                       (* the answer, at the last token *)

Section Two.
Variable M : two_layers.
Fixpoint layer1 (q : Sp M) (past xs : list (X M)) : list (Z M) :=
  match xs with
  | [] => []
  | x :: xs => let (q', v) := pre M q x in
               join M x v (told M x (past ++ [x])) :: layer1 q' (past ++ [x]) xs
  end.
Definition told2 (z : Z M) (zs : list (Z M)) : C2 M := total (contrib2 M (query2 M z)) zs.
Definition last_z (q : Sp M) (x : X M) (c : C1 M) : Z M := join M x (snd (pre M q x)) c.
(** The last token x, after the text xs. *)
Definition answer (xs : list (X M)) (x : X M) : nat :=
  let zs := layer1 (sp0 M) [] xs in
  let z := last_z (after M (sp0 M) xs) x (told M x (xs ++ [x])) in
  read M z (snd (post M (fst (mealy (post M) (sq0 M) zs)) z)) (told2 z (zs ++ [z])).
Definition run_two (v z0 : nat) (z1 z2 : list nat) : nat := answer (text M z0 z1 z2) (ew M v).

Definition two_size (m n1 s0 s1 w0 w1 : nat) : Prop :=
  let n := n1 * m + m in
  has_bits (pre M) (sp0 M) n s0 /\ has_bits (post M) (sq0 M) n s1 /\ reply_bits M n w0 /\
  exists L2 : list (C2 M), length L2 <= 2 ^ w1 /\ forall z zs, length zs <= n -> In (told2 z zs) L2.

(** The same with the sums over an earlier part of the text given. *)
Fixpoint layer1r (reps : list (C1 M)) (q : Sp M) (past xs : list (X M)) : list (Z M) :=
  match xs, reps with
  | x :: xs, r :: reps =>
      let (q', v) := pre M q x in
      join M x v (add r (told M x (past ++ [x]))) :: layer1r reps q' (past ++ [x]) xs
  | _, _ => []
  end.
Lemma layer1_told A xs : forall q past,
  layer1 q (A ++ past) xs = layer1r (map (fun x => told M x A) xs) q past xs.
Proof.
  induction xs as [|x xs IH]; intros q past; simpl; [reflexivity|]. destruct (pre M q x) as [q' v].
  rewrite <- !app_assoc, IH. unfold told at 1. rewrite total_app. reflexivity.
Qed.
Lemma layer1_app xs xs' : forall q past,
  layer1 q past (xs ++ xs') = layer1 q past xs ++ layer1 (after M q xs) (past ++ xs) xs'.
Proof.
  induction xs as [|x xs IH]; intros q past; simpl; [unfold after; simpl; rewrite app_nil_r; reflexivity|].
  unfold after. simpl. destruct (pre M q x) as [q' v]. rewrite IH, <- app_assoc. unfold after.
  destruct (mealy (pre M) q' xs); reflexivity.
Qed.
Lemma layer1_length xs : forall q past, length (layer1 q past xs) = length xs.
Proof.
  induction xs as [|x xs IH]; intros q past; simpl; [reflexivity|]. destruct (pre M q x). simpl. rewrite IH.
  reflexivity.
Qed.

Section Talk.
Variables m n1 y h b : nat.
Let E := y * h.
Let T := T M m y h b.
Let P := P M m y h.
Let x0 := x0 M m y h.
Variables (Ls : list (Sp M)) (Lw : list (C1 M)).
Definition c_sg z2 := (after M (sp0 M) (P z2), fst (mealy (post M) (sq0 M) (layer1 (sp0 M) [] (P z2)))).
Definition c_w z2 v := told M (ew M v) (P z2).
Definition c_0 z2 i := told M (x0 i) (P z2).
Definition c_1 z2 i a := told M (e1 M (m - E + i) (value h b i a)) (P z2).
Definition c_know v r (g : Sp M * Sq M) := known M m y h b Ls Lw v r (fst g).
Definition c_z v i (k : Sp M * C1 M) rw :=
  last_z (after M (fst k) [x0 i]) (ew M v) (add rw (add (snd k) (told M (ew M v) [x0 i; ew M v]))).
Definition c_q z2 v i k rw (_ : Sp M * Sq M) :=
  told2 (c_z v i (back M Ls Lw k) rw) (layer1 (sp0 M) [] (P z2)).
Definition c_out v i r (g : Sp M * Sq M) rw r0 reps rq :=
  let k := seen M m y h b v r (fst g) in
  let z := c_z v i k rw in
  let zs := layer1r (reps ++ [r0]) (fst g) [] (T r ++ [x0 i]) in
  read M z (snd (post M (fst (mealy (post M) (snd g) zs)) z)) (add rq (told2 z (zs ++ [z]))).

Hypothesis HE : E <= m.
Hypothesis Hafter : forall xs, length xs = n1 * m + m -> In (after M (sp0 M) xs) Ls.
Hypothesis Htold : forall x past, length past <= n1 * m + m -> In (told M x past) Lw.

Lemma two_is_talk v i r z2 : In z2 (nwords (n1 * m) (n1 * m)) ->
  run_two v (m - E + i) (table1 m y h b r) z2 =
  ans_w y h (Sp M * Sq M) (C1 M) (C1 M) (C2 M) c_sg c_w c_0 c_1 c_know c_q c_out v i r z2.
Proof.
  intros Hz. unfold run_two, ans_w, c_out, c_q, c_know. unfold E. rewrite text_parts. fold T P x0.
  change (each_w_stack.P M m y h) with P. change (each_w_stack.T M m y h b) with T.
  change (each_w_stack.x0 M m y h) with x0.
  change (fst (c_sg z2)) with (after M (sp0 M) (each_w_stack.P M m y h z2)).
  rewrite (back_known M m n1 y h b Ls Lw HE Hafter Htold v r z2 Hz).
  change (after M (sp0 M) (each_w_stack.P M m y h z2)) with (fst (c_sg z2)). unfold answer.
  assert (Ez : last_z (after M (sp0 M) (P z2 ++ T r ++ [x0 i])) (ew M v)
                 (told M (ew M v) ((P z2 ++ T r ++ [x0 i]) ++ [ew M v]))
             = c_z v i (seen M m y h b v r (fst (c_sg z2))) (c_w z2 v)).
  { unfold c_z, seen, c_sg, c_w. simpl fst. simpl snd. change (each_w_stack.T M m y h b) with T.
    rewrite <- !app_assoc. simpl app. unfold P, T. rewrite told_parts, after_parts. reflexivity. }
  rewrite Ez. set (z := c_z v i (seen M m y h b v r (fst (c_sg z2))) (c_w z2 v)).
  rewrite layer1_app. change ([] ++ P z2) with (P z2).
  set (zs := layer1 (after M (sp0 M) (P z2)) (P z2) (T r ++ [x0 i])).
  assert (Ezs : zs = layer1r (map (fun j => c_1 z2 j (nth j r 0)) (seq 0 (y * h)) ++ [c_0 z2 i])
                       (fst (c_sg z2)) [] (T r ++ [x0 i])).
  { unfold zs. rewrite <- (app_nil_r (P z2)) at 2. rewrite layer1_told. f_equal. rewrite map_app.
    f_equal. unfold T, each_w_stack.T. rewrite map_map. reflexivity. }
  rewrite mealy_app_fst, <- app_assoc. unfold told2 at 1. rewrite total_app.
  fold (told2 z (layer1 (sp0 M) [] (P z2))) (told2 z (zs ++ [z])). rewrite <- Ezs. reflexivity.
Qed.
End Talk.

Theorem two_layers_bound m n1 y h b J s0 s1 w0 w1 :
  0 < h -> 0 < y -> 0 < b -> 0 < n1 -> y * b <= m -> y * h <= m ->
  (J - 1) ^ (y * h) * 2 ^ (w0 + s0) < (y * b) ^ (y * h) ->
  two_size m n1 s0 s1 w0 w1 ->
  (forall v z0 z1 z2, v < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords (n1 * m) (n1 * m)) ->
     run_two v z0 z1 z2 = nth (v * m + nth z0 z1 0) z2 0) ->
  (n1 * m) ^ (n1 * J) <= 2 ^ (s0 + s1 + n1 * (w0 + y * w1) + w0 * (y * h * (b + 1))).
Proof.
  intros Hh Hy Hb Hn1 Hyb Hyh HJ [Hpre [Hpost [[Lw [HLw Htold]] [L2 [HL2 Htold2]]]]] C.
  destruct (Hpre (n1 * m + (m - y * h)) ltac:(lia)) as [Lp [HLp Hp]].
  destruct (Hpre (n1 * m + m) ltac:(lia)) as [Ls [HLs Hs]].
  destruct (Hpost (n1 * m + (m - y * h)) ltac:(lia)) as [Lt [HLt Ht]].
  pose proof (each_w m n1 y h b Hh Hy Hb Hyb (Sp M * Sq M) (C1 M) (C1 M) (C2 M)) as W.
  specialize (W ltac:(decide equality; [apply Sq_dec|apply Sp_dec])).
  specialize (W (c_sg m y h) (c_w m y h) (c_0 m y h) (c_1 m y h b) (c_know m y h b Ls Lw)
    (c_q m y h Ls Lw) (c_out m y h b) (2 ^ (w0 + s0)) (list_prod Lp Lt) Lw Lw L2).
  assert (PL : 0 < length Ls).
  { pose proof (Hs (repeat (e0 M 0) (n1 * m + m)) (repeat_length _ _)) as I. destruct Ls; [destruct I|simpl; lia]. }
  assert (G : (n1 * m) ^ (n1 * J) <= length (list_prod Lp Lt) *
    (length Lw ^ n1 * (length Lw ^ (y * h + y * h * b) * length L2 ^ (n1 * y)))).
  { apply W; try assumption.
    - intros z2 Hz. apply in_prod; [apply Hp|apply Ht; rewrite layer1_length]; apply P_length, Hz.
    - intros v r g. exact (known_lt M m n1 y h b Ls Lw Hyh Htold s0 w0 v r (fst g) HLs HLw PL).
    - intros z2 v Hz. apply (told_in M m n1 y h Lw Hyh Htold _ _ Hz).
    - intros z2 i Hz. apply (told_in M m n1 y h Lw Hyh Htold _ _ Hz).
    - intros z2 i a Hz. apply (told_in M m n1 y h Lw Hyh Htold _ _ Hz).
    - intros z2 v i k rw g Hz. apply Htold2. rewrite layer1_length, (P_length M m n1 y h z2 Hz). lia.
    - intros v i r z2 Hv Hi Hr Hz.
      rewrite <- (two_is_talk m n1 y h b Ls Lw Hyh Hs Htold v i r z2 Hz).
      rewrite C; try assumption; [|lia|apply table1_legal; assumption].
      unfold truth_w. rewrite table1_nth by exact Hi. reflexivity. }
  etransitivity; [exact G|]. rewrite prod_length.
  transitivity (2 ^ s0 * 2 ^ s1 * ((2 ^ w0) ^ n1 * ((2 ^ w0) ^ (y * h + y * h * b) * (2 ^ w1) ^ (n1 * y)))).
  - repeat apply Nat.mul_le_mono; try assumption; apply Nat.pow_le_mono_l; assumption.
  - rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. nia.
Qed.
End Two.

(** ** One layer that thinks once *)
Record thinker := {
  only :> first_layer;
  think : X only -> Y only -> C1 only -> X only;      (* the token of thought *)
  say : X only -> Y only -> C1 only -> nat }.         (* the answer, at that token *)

Section Once.
Variable M : thinker.
Definition thought (q : Sp M) (x : X M) (c : C1 M) : X M := think M x (snd (pre M q x)) c.
Definition answer_thinking (xs : list (X M)) (x : X M) : nat :=
  let t := thought (after M (sp0 M) xs) x (told M x (xs ++ [x])) in
  say M t (snd (pre M (after M (sp0 M) (xs ++ [x])) t)) (told M t (xs ++ [x; t])).
Definition run_thinking (v z0 : nat) (z1 z2 : list nat) : nat := answer_thinking (text M z0 z1 z2) (ew M v).

Definition thinker_size (m n1 s w : nat) : Prop :=
  has_bits (pre M) (sp0 M) (n1 * m + m) s /\ reply_bits M (n1 * m + m) w.

Section Talk.
Variables m n1 y h b : nat.
Let E := y * h.
Let T := T M m y h b.
Let P := P M m y h.
Let x0 := x0 M m y h.
Variables (Ls : list (Sp M)) (Lw : list (C1 M)).
Definition t_sg z2 := after M (sp0 M) (P z2).
Definition t_w z2 v := told M (ew M v) (P z2).
Definition t_thought v i (k : Sp M * C1 M) rw :=
  thought (after M (fst k) [x0 i]) (ew M v) (add rw (add (snd k) (told M (ew M v) [x0 i; ew M v]))).
Definition t_q z2 v i k rw (_ : Sp M) := told M (t_thought v i (back M Ls Lw k) rw) (P z2).
Definition t_out v i r (g : Sp M) rw (_ : unit) (_ : list unit) rq :=
  let k := seen M m y h b v r g in
  let t := t_thought v i k rw in
  say M t (snd (pre M (after M (fst k) [x0 i; ew M v]) t)) (add rq (told M t (T r ++ [x0 i; ew M v; t]))).

Hypothesis HE : E <= m.
Hypothesis Hafter : forall xs, length xs = n1 * m + m -> In (after M (sp0 M) xs) Ls.
Hypothesis Htold : forall x past, length past <= n1 * m + m -> In (told M x past) Lw.

Lemma thinking_is_talk v i r z2 : In z2 (nwords (n1 * m) (n1 * m)) ->
  run_thinking v (m - E + i) (table1 m y h b r) z2 =
  ans_w y h (Sp M) (C1 M) unit (C1 M) t_sg t_w (fun _ _ => tt) (fun _ _ _ => tt)
    (known M m y h b Ls Lw) t_q t_out v i r z2.
Proof.
  intros Hz. unfold run_thinking, ans_w, t_out, t_q. unfold E. rewrite text_parts.
  change (t_sg z2) with (after M (sp0 M) (each_w_stack.P M m y h z2)).
  rewrite (back_known M m n1 y h b Ls Lw HE Hafter Htold v r z2 Hz).
  change (after M (sp0 M) (each_w_stack.P M m y h z2)) with (t_sg z2). unfold answer_thinking.
  assert (Et : thought (after M (sp0 M) (each_w_stack.P M m y h z2 ++ each_w_stack.T M m y h b r ++ [x0 i])) (ew M v)
                 (told M (ew M v) ((each_w_stack.P M m y h z2 ++ each_w_stack.T M m y h b r ++ [x0 i]) ++ [ew M v]))
             = t_thought v i (seen M m y h b v r (t_sg z2)) (t_w z2 v)).
  { unfold t_thought, seen, t_sg, t_w, P. simpl fst. simpl snd.
    rewrite <- !app_assoc. simpl app. rewrite told_parts, after_parts. reflexivity. }
  fold (x0 i). rewrite Et. set (t := t_thought v i (seen M m y h b v r (t_sg z2)) (t_w z2 v)).
  rewrite <- !app_assoc. simpl app. rewrite after_parts. unfold told.
  rewrite (total_app _ (each_w_stack.P M m y h z2)). reflexivity.
Qed.
End Talk.

Theorem thinker_bound m n1 y h b J s w :
  0 < h -> 0 < y -> 0 < b -> 0 < n1 -> y * b <= m -> y * h <= m ->
  (J - 1) ^ (y * h) * 2 ^ (w + s) < (y * b) ^ (y * h) ->
  thinker_size m n1 s w ->
  (forall v z0 z1 z2, v < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords (n1 * m) (n1 * m)) ->
     run_thinking v z0 z1 z2 = nth (v * m + nth z0 z1 0) z2 0) ->
  (n1 * m) ^ (n1 * J) <= 2 ^ (s + n1 * (w + y * w)).
Proof.
  intros Hh Hy Hb Hn1 Hyb Hyh HJ [Hpre [Lw [HLw Htold]]] C.
  destruct (Hpre (n1 * m + (m - y * h)) ltac:(lia)) as [Lp [HLp Hp]].
  destruct (Hpre (n1 * m + m) ltac:(lia)) as [Ls [HLs Hs]].
  assert (PL : 0 < length Ls).
  { pose proof (Hs (repeat (e0 M 0) (n1 * m + m)) (repeat_length _ _)) as I. destruct Ls; [destruct I|simpl; lia]. }
  assert (G : (n1 * m) ^ (n1 * J) <= length Lp *
    (length Lw ^ n1 * (length [tt] ^ (y * h + y * h * b) * length Lw ^ (n1 * y)))).
  { apply (each_w m n1 y h b Hh Hy Hb Hyb (Sp M) (C1 M) unit (C1 M) (Sp_dec M) (t_sg m y h) (t_w m y h)
      (fun _ _ => tt) (fun _ _ _ => tt) (known M m y h b Ls Lw) (t_q m y h Ls Lw) (t_out m y h b)
      (2 ^ (w + s)) Lp Lw [tt] Lw); try assumption.
    - intros z2 Hz. apply Hp, P_length, Hz.
    - intros v r g. exact (known_lt M m n1 y h b Ls Lw Hyh Htold s w v r g HLs HLw PL).
    - intros z2 v Hz. apply (told_in M m n1 y h Lw Hyh Htold _ _ Hz).
    - intros; simpl; auto.
    - intros; simpl; auto.
    - intros z2 v i k rw g Hz. apply (told_in M m n1 y h Lw Hyh Htold _ _ Hz).
    - intros v i r z2 Hv Hi Hr Hz.
      rewrite <- (thinking_is_talk m n1 y h b Ls Lw Hyh Hs Htold v i r z2 Hz).
      rewrite C; try assumption; [|lia|apply table1_legal; assumption].
      unfold truth_w. rewrite table1_nth by exact Hi. reflexivity. }
  etransitivity; [exact G|]. simpl (length [tt]). rewrite Nat.pow_1_l, Nat.mul_1_l.
  transitivity (2 ^ s * ((2 ^ w) ^ n1 * (2 ^ w) ^ (n1 * y))).
  - repeat apply Nat.mul_le_mono; try assumption; apply Nat.pow_le_mono_l; assumption.
  - rewrite <- !Nat.pow_mul_r, <- !Nat.pow_add_r. apply Nat.pow_le_mono_r; [lia|]. nia.
Qed.
End Once.

(** ** What a verdict says *)
Lemma wrong_somewhere (answer : nat -> nat -> list nat -> list nat -> nat) m n1 :
  ~ (forall v z0 z1 z2, v < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords (n1 * m) (n1 * m)) ->
       answer v z0 z1 z2 = nth (v * m + nth z0 z1 0) z2 0) -> errs_on_two_hops answer m n1.
Proof.
  intros H.
  set (dom := list_prod (list_prod (seq 0 n1) (seq 0 m))
                (list_prod (nwords m m) (nwords (n1 * m) (n1 * m)))).
  destruct (forallb (fun q => answer (fst (fst q)) (snd (fst q)) (fst (snd q)) (snd (snd q))
      =? nth (fst (fst q) * m + nth (snd (fst q)) (fst (snd q)) 0) (snd (snd q)) 0) dom) eqn:D.
  - exfalso. apply H. rewrite forallb_forall in D. intros v z0 z1 z2 H1 H2 H3 H4.
    apply Nat.eqb_eq. apply (D ((v, z0), (z1, z2))). unfold dom.
    repeat apply in_prod; auto; apply in_seq; lia.
  - apply forallb_false in D. destruct D as [[[v z0] [z1 z2]] [Hd D]]. simpl in D.
    unfold dom in Hd. rewrite !in_prod_iff, !in_seq in Hd.
    exists v, z0, z1, z2. apply Nat.eqb_neq in D. repeat split; auto; try tauto; lia.
Qed.

(** e/c bounds from above what an entry of z_1 has lost, a/q bounds log2 N from below. *)
Definition chk_w (m n1 d has y h b J c e a q : N) : bool :=
  ((0 <? h) && (0 <? y) && (0 <? b) && (0 <? n1) && (y * b <=? m) && (y * h <=? m) &&
   ((J - 1) ^ c * 2 ^ e <? (y * b) ^ c) && (d * c <=? e * (y * h)) &&
   power_exceeds has (n1 * J) (n1 * m) a q)%N.

Lemma kept_gap (J' E yb d c e : nat) : 0 < E -> J' ^ c * 2 ^ e < yb ^ c -> d * c <= e * E ->
  J' ^ E * 2 ^ d < yb ^ E.
Proof.
  intros HE H L. assert (Hc : c <> 0).
  { intros ->. pose proof (Nat.pow_nonzero 2 e). simpl in H. lia. }
  destruct (le_lt_dec (yb ^ E) (J' ^ E * 2 ^ d)) as [G|G]; [exfalso|exact G].
  apply (Nat.pow_le_mono_l _ _ c) in G. apply (Nat.pow_lt_mono_l _ _ E) in H; [|lia].
  rewrite Nat.pow_mul_l, <- !Nat.pow_mul_r in G. rewrite Nat.pow_mul_l, <- !Nat.pow_mul_r in H.
  rewrite (Nat.mul_comm E c) in G.
  assert (2 ^ (d * c) <= 2 ^ (e * E)) by (apply Nat.pow_le_mono_r; lia). nia.
Qed.

Lemma chk_w_sound m n1 d has y h b J c e a q : chk_w m n1 d has y h b J c e a q = true ->
  let nat := N.to_nat in
  0 < nat h /\ 0 < nat y /\ 0 < nat b /\ 0 < nat n1 /\ nat y * nat b <= nat m /\ nat y * nat h <= nat m /\
  (nat J - 1) ^ (nat y * nat h) * 2 ^ nat d < (nat y * nat b) ^ (nat y * nat h) /\
  2 ^ nat has < (nat n1 * nat m) ^ (nat n1 * nat J).
Proof.
  intros H nat. unfold chk_w in H. rewrite !andb_true_iff, !N.ltb_lt, !N.leb_le in H.
  destruct H as [[[[[[[[C1 C2] C3] C4] C5] C6] C7] C8] C9].
  apply power_exceeds_sound in C9. rewrite !N2Nat.inj_mul in C9.
  apply to_nat_lt in C1, C2, C3, C4, C7. apply to_nat_le in C5, C6, C8.
  to_nat_in C5. to_nat_in C6. to_nat_in C7. to_nat_in C8. rewrite N2Nat.inj_sub in C7.
  change (N.to_nat 0) with 0 in *. change (N.to_nat 1) with 1 in *. change (N.to_nat 2) with 2 in *.
  unfold nat. repeat split; try assumption.
  apply (kept_gap _ _ _ _ (N.to_nat c) (N.to_nat e)); try assumption. nia.
Qed.

Theorem cannot_two_layers m n1 s0 s1 w0 w1 y h b J c e a q :
  chk_w m n1 (w0 + s0) (s0 + s1 + n1 * (w0 + y * w1) + w0 * (y * h * (b + 1))) y h b J c e a q = true ->
  forall M : two_layers,
  two_size M (N.to_nat m) (N.to_nat n1) (N.to_nat s0) (N.to_nat s1) (N.to_nat w0) (N.to_nat w1) ->
  errs_on_two_hops (run_two M) (N.to_nat m) (N.to_nat n1).
Proof.
  intros H M HS. apply chk_w_sound in H. destruct H as [D1 [D2 [D3 [D4 [D5 [D6 [D7 D8]]]]]]].
  apply wrong_somewhere. intros C. rewrite N2Nat.inj_add in D7.
  pose proof (two_layers_bound M _ _ _ _ _ _ _ _ _ _ D1 D2 D3 D4 D5 D6 D7 HS C) as B.
  rewrite !N2Nat.inj_add, !N2Nat.inj_mul, !N2Nat.inj_add, !N2Nat.inj_mul in D8.
  change (N.to_nat 1) with 1 in D8. lia.
Qed.

Theorem cannot_think_once m n1 s w y h b J c e a q :
  chk_w m n1 (w + s) (s + n1 * (w + y * w)) y h b J c e a q = true ->
  forall M : thinker, thinker_size M (N.to_nat m) (N.to_nat n1) (N.to_nat s) (N.to_nat w) ->
  errs_on_two_hops (run_thinking M) (N.to_nat m) (N.to_nat n1).
Proof.
  intros H M HS. apply chk_w_sound in H. destruct H as [D1 [D2 [D3 [D4 [D5 [D6 [D7 D8]]]]]]].
  apply wrong_somewhere. intros C. rewrite N2Nat.inj_add in D7.
  pose proof (thinker_bound M _ _ _ _ _ _ _ _ D1 D2 D3 D4 D5 D6 D7 HS C) as B.
  rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_add, N2Nat.inj_mul in D8. lia.
Qed.
