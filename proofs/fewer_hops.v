(** Fewer hops than the task has.  If the tables above the first L of them are the identity, the task asks for i_L:
    they are a constant beginning of the text, and a stack that has read a constant beginning is a stack again,
    with other states to start from and with a part more in each sum.  So who errs on L hops errs on more.
    And one full layer that thinks once, as a stack: route each_w of each_w_stack.v for two hops and more. *)
From Coq Require Import List Arith Lia Bool PeanoNat NArith.
Import ListNotations.
From Limen Require Import counting powers streaming_state many_hops many_hops_stack many_hops_sizes many_hops_thoughts.
From Limen Require depth_rule each_w_stack two_hops_stack composition_depth.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** ** A stack that has read s *)
Section Begun.
Context {H : Type}.
Definition begun_at (r : recurrent H) (q : St r) : recurrent H :=
  {| St := St r; St_dec := St_dec r; O := O r; st0 := q; step := step r |}.
Definition begun (l : layer H) (s : list H) : layer H :=
  match l return layer H with
  | Full f r join => Full f (begun_at r (after (Full f r join) (st0 r) s))
                       (fun h c o => join h (add (told (Full f r join) h s) c) o)
  | Linear r join => Linear (begun_at r (after (Linear r join) (st0 r) s)) join
  end.
Fixpoint all_begun (ls : list (layer H)) (s : list H) : list (layer H) :=
  match ls with [] => [] | l :: ls => begun l s :: all_begun ls (run_layer l s) end.

Lemma begun_full_go f r (join : H -> carrier (C f) -> O r -> H) s y : forall q past,
  go (Full f (begun_at r (after (Full f r join) (st0 r) s)) (fun h c o => join h (add (told (Full f r join) h s) c) o)) q past y
  = go (Full f r join) q (s ++ past) y.
Proof.
  induction y as [|a y IH]; intros q past; [reflexivity|]. cbn [go memory begun_at step joined].
  destruct (step r q a) as [q' o]. rewrite IH, !app_assoc. f_equal. f_equal.
  unfold told. cbn [heads]. rewrite <- (total_app (contrib f (query f a))), app_assoc. reflexivity.
Qed.
Lemma begun_linear_go r (join : H -> O r -> H) q0 s y : forall q past,
  go (Linear (begun_at r q0) join) q past y = go (Linear r join) q (s ++ past) y.
Proof.
  induction y as [|a y IH]; intros q past; [reflexivity|]. cbn [go memory begun_at step joined].
  destruct (step r q a) as [q' o]. rewrite IH, !app_assoc. reflexivity.
Qed.
Lemma begun_run l s y : run_layer (begun l s) y = go l (after l (st0 (memory l)) s) s y.
Proof.
  unfold run_layer. destruct l as [f r join|r join]; cbn [begun memory begun_at st0].
  - rewrite begun_full_go, app_nil_r. reflexivity.
  - rewrite (begun_linear_go r join _ s), app_nil_r. reflexivity.
Qed.
Lemma all_begun_run ls : forall s y, run (all_begun ls s) y = tail ls s y.
Proof.
  induction ls as [|l ls IH]; intros s y; [reflexivity|]. cbn [all_begun tail]. rewrite run_cons, begun_run, IH. reflexivity.
Qed.
Lemma all_begun_holds ls s y : y <> [] -> holds (all_begun ls s) y = holds ls (s ++ y).
Proof.
  intros Hy. unfold holds. rewrite all_begun_run, run_tail, map_app. symmetry. apply last_app. intros E.
  apply (f_equal (@length _)) in E. rewrite map_length, tail_length in E. destruct y; [congruence|discriminate].
Qed.
Lemma thinking_nonempty (ls : list (layer H)) think i y : y <> [] -> thinking ls think i y <> [].
Proof. intros Hy. destruct i as [|i]; [exact Hy|]. cbn [thinking]. intros E. apply app_eq_nil in E. destruct E. discriminate. Qed.
Lemma all_begun_thinking ls think s y : y <> [] -> forall i, s ++ thinking (all_begun ls s) think i y = thinking ls think i (s ++ y).
Proof.
  intros Hy. induction i as [|i IH]; [reflexivity|]. cbn [thinking]. rewrite app_assoc, IH, <- IH, all_begun_holds; [reflexivity|].
  apply thinking_nonempty, Hy.
Qed.
Lemma all_begun_answer read ls think T s y : y <> [] ->
  thought_answer read (all_begun ls s) think T y = thought_answer read ls think T (s ++ y).
Proof.
  intros Hy. unfold thought_answer. rewrite !answer_holds, all_begun_holds by (apply thinking_nonempty, Hy).
  rewrite all_begun_thinking by exact Hy. reflexivity.
Qed.

(** Its sizes are no larger, and its shape is the same. *)
Lemma all_begun_kinds ls : forall s, map kind (all_begun ls s) = map kind ls.
Proof.
  induction ls as [|l ls IH]; intros s; [reflexivity|]. cbn [all_begun map]. rewrite IH. destruct l; reflexivity.
Qed.
Lemma all_begun_kappa ls s : kappa (all_begun ls s) = kappa ls.
Proof. unfold kappa. rewrite all_begun_kinds. reflexivity. Qed.
Lemma all_begun_phi ls s : phi (all_begun ls s) = phi ls.
Proof. rewrite <- !phi_full, all_begun_kinds. reflexivity. Qed.
Lemma begun_reply l s n w : reply_size l n w -> reply_size (begun l s) n w.
Proof. destruct l; intros Hw; exact Hw. Qed.
Definition as_begun (l : layer H) (s : list H) : St (memory l) -> St (memory (begun l s)) :=
  match l return St (memory l) -> St (memory (begun l s)) with Full _ _ _ => fun q => q | Linear _ _ => fun q => q end.
Fixpoint all_as_begun (ls : list (layer H)) (s : list H) : states ls -> states (all_begun ls s) :=
  match ls return states ls -> states (all_begun ls s) with
  | [] => fun q => q
  | l :: ls => fun q => (as_begun l s (fst q), all_as_begun ls (run_layer l s) (snd q))
  end.
Lemma begun_full_after f r (join : H -> carrier (C f) -> O r -> H) q0 join' xs : forall q : St r,
  after (Full f (begun_at r q0) join') q xs = after (Full f r join) q xs.
Proof. induction xs as [|a xs IH]; intros q; [reflexivity|]. apply IH. Qed.
Lemma begun_linear_after r (join : H -> O r -> H) q0 join' xs : forall q : St r,
  after (Linear (begun_at r q0) join') q xs = after (Linear r join) q xs.
Proof. induction xs as [|a xs IH]; intros q; [reflexivity|]. apply IH. Qed.
Lemma after_begun l s xs : after (begun l s) (st0 (memory (begun l s))) xs = as_begun l s (after l (st0 (memory l)) (s ++ xs)).
Proof.
  rewrite after_app. destruct l as [f r join|r join]; cbn [begun memory as_begun begun_at st0];
    [apply begun_full_after|apply begun_linear_after].
Qed.
Lemma all_begun_state ls : forall s xs, state_of (all_begun ls s) xs = all_as_begun ls s (state_of ls (s ++ xs)).
Proof.
  induction ls as [|l ls IH]; intros s xs; [reflexivity|]. cbn [all_begun state_of all_as_begun fst snd].
  rewrite after_begun, begun_run, IH, run_layer_app. reflexivity.
Qed.
Lemma all_begun_size ls s n m w q : length s + m <= n -> stack_size ls n w q -> stack_size (all_begun ls s) m w q.
Proof.
  intros Hn [Hw Hs]. split.
  - intros l Hl Hf. assert (G : exists l0 s0, In l0 ls /\ l = begun l0 s0).
    { clear -Hl. revert s Hl. induction ls as [|a ls IH]; intros s Hl; [destruct Hl|]. destruct Hl as [<-|Hl]; [exists a, s; simpl; auto|].
      destruct (IH _ Hl) as [l0 [s0 [G E]]]. exists l0, s0. simpl; auto. }
    destruct G as [l0 [s0 [G ->]]]. assert (F0 : is_full l0 = true) by (destruct l0; [reflexivity|discriminate]).
    destruct (begun_reply l0 s0 n w (Hw l0 G F0)) as [Lw [H1 H2]]. exists Lw. split; [exact H1|]. intros h past Hp. apply H2. lia.
  - intros t Ht. destruct (Hs (length s + t) ltac:(lia)) as [Ls [L1 L2]]. exists (map (all_as_begun ls s) Ls).
    rewrite map_length. split; [exact L1|]. intros xs Lx. rewrite all_begun_state. apply in_map, L2. rewrite app_length. lia.
Qed.
End Begun.

(** ** More tables: the identity *)
Fixpoint identical (V : nat) (more : list nat) : list (list nat) :=
  match more with [] => [] | n :: more => seq 0 (n * V) :: identical (n * V) more end.
Definition zeros (ns : list nat) : list nat := map (fun _ => 0) ns.
Lemma tables_more ns more : forall V zs, In zs (tables V ns) -> In (zs ++ identical (V * prod ns) more) (tables V (ns ++ more)).
Proof.
  assert (I : forall more V, In (identical V more) (tables V more)).
  { induction more0 as [|n more0 IH]; intros V; [left; reflexivity|]. apply in_tables. split; [|apply IH].
    apply in_nwords. rewrite seq_length. split; [reflexivity|]. apply Forall_forall. intros i Hi. apply in_seq in Hi. lia. }
  induction ns as [|n ns IH]; intros V zs Hz.
  - destruct Hz as [<-|[]]. cbn [app prod]. rewrite Nat.mul_1_r. apply I.
  - destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr]. cbn [app prod].
    apply in_tables. split; [exact Hz|]. replace (V * (n * prod ns)) with (n * V * prod ns) by ring. apply IH, Hr.
Qed.
Lemma parts_more ns more ws : Forall (lt 0) more -> In ws (parts ns) -> In (ws ++ zeros more) (parts (ns ++ more)).
Proof.
  intros Hm. revert ws. induction ns as [|n ns IH]; intros ws Hw.
  - destruct Hw as [<-|[]]. cbn [app]. induction Hm as [|n more Hn Hm IH]; [left; reflexivity|]. apply in_parts. auto.
  - destruct ws as [|w ws].
    { unfold parts in Hw. simpl in Hw. apply in_flat_map in Hw. destruct Hw as [a [_ Hw]]. apply in_map_iff in Hw. destruct Hw as [b [E _]]. discriminate. }
    apply in_parts in Hw. cbn [app]. apply in_parts. split; [tauto|]. apply IH. tauto.
Qed.
Lemma chain_identical more : forall V i, Forall (lt 0) more -> i < V -> chain V i more (zeros more) (identical V more) = i.
Proof.
  induction more as [|n more IH]; intros V i Hm Hi; [reflexivity|]. inversion Hm; subst. cbn [zeros map chain identical].
  rewrite Nat.mul_0_l, Nat.add_0_l, seq_nth by nia. apply IH; [assumption|nia].
Qed.
Lemma chain_more ns more : Forall (lt 0) more -> forall V i ws zs, i < V -> In ws (parts ns) -> In zs (tables V ns) ->
  chain V i (ns ++ more) (ws ++ zeros more) (zs ++ identical (V * prod ns) more) = chain V i ns ws zs.
Proof.
  intros Hm. induction ns as [|n ns IH]; intros V i ws zs Hi Hw Hz.
  - destruct Hw as [<-|[]], Hz as [<-|[]]. cbn [app prod]. rewrite Nat.mul_1_r. apply chain_identical; assumption.
  - destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr].
    destruct ws as [|w ws].
    { unfold parts in Hw. simpl in Hw. apply in_flat_map in Hw. destruct Hw as [a [_ Hw]]. apply in_map_iff in Hw. destruct Hw as [b [E _]]. discriminate. }
    apply in_parts in Hw. destruct Hw as [Hw Hws]. cbn [app chain prod].
    replace (V * (n * prod ns)) with (n * V * prod ns) by ring. apply IH; [|exact Hws|exact Hr].
    apply (nwords_nth (n * V)); [exact Hz|]. nia.
Qed.
Lemma text_app {H} (tok : nat -> nat -> nat -> H) zs zs' : forall k,
  text H tok k (zs ++ zs') = text H tok (k + length zs) zs' ++ text H tok k zs.
Proof.
  induction zs as [|z zs IH]; intros k; cbn [app text length]; [rewrite Nat.add_0_r, app_nil_r; reflexivity|].
  rewrite IH, <- app_assoc. do 2 f_equal. lia.
Qed.
Lemma tables_length ns : forall V zs, In zs (tables V ns) -> length zs = length ns.
Proof.
  induction ns as [|n ns IH]; intros V zs Hz; [destruct Hz as [<-|[]]; reflexivity|].
  destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. simpl. f_equal. apply (IH (n * V)). tauto.
Qed.
Lemma size_more ns more : forall V, size V (ns ++ more) = size V ns + size (V * prod ns) more.
Proof.
  induction ns as [|n ns IH]; intros V; cbn [app size prod]; [rewrite Nat.mul_1_r; reflexivity|].
  rewrite IH. replace (V * (n * prod ns)) with (n * V * prod ns) by ring. lia.
Qed.

(** ** Who errs on L hops errs on more. *)
Definition above {H} (tok : nat -> nat -> nat -> H) (m : nat) (ns more : list nat) : list H :=
  text H tok (length ns) (identical (m * prod ns) more).
Lemma above_length {H} (tok : nat -> nat -> nat -> H) m ns more : length (above tok m ns more) = size (m * prod ns) more.
Proof.
  unfold above. generalize (length ns), (m * prod ns). induction more as [|n more IH]; intros k V; [reflexivity|].
  cbn [identical text size]. rewrite app_length, IH. unfold block. rewrite wrv_len, seq_length. lia.
Qed.
Theorem fewer_hops {H} tok tok0 tokw read (ls : list (layer H)) think T m ns more : Forall (lt 0) more ->
  thinker_errs tok tok0 (fun ws => tokw (ws ++ zeros more)) read (all_begun ls (above tok m ns more)) think T m ns ->
  thinker_errs tok tok0 tokw read ls think T m (ns ++ more).
Proof.
  intros Hm [z0 [ws [zs [Hz0 [Hws [Hzs E]]]]]]. exists z0, (ws ++ zeros more), (zs ++ identical (m * prod ns) more).
  split; [exact Hz0|]. split; [apply parts_more; assumption|]. split; [apply tables_more, Hzs|].
  rewrite chain_more by assumption. intros G. apply E. rewrite <- G, all_begun_answer by (unfold input; destruct (text H tok 0 zs); discriminate).
  f_equal. unfold input. rewrite text_app, (tables_length _ _ _ Hzs), <- app_assoc. reflexivity.
Qed.
Corollary fewer_hops_size {H} tok (ls : list (layer H)) m ns more w s : stack_size ls (size m (ns ++ more)) w s ->
  stack_size (all_begun ls (above tok m ns more)) (size m ns) w s.
Proof. apply all_begun_size. rewrite above_length, size_more. lia. Qed.

(** ** One full layer that thinks once: a thinker of each_w_stack.v. *)
Section Lone.
Context {H : Type}.
Variables (f : attention H) (r : recurrent H) (join : H -> carrier (C f) -> O r -> H).
Variable tok : nat -> nat -> nat -> H.
Variables (tok0 : nat -> H) (tokw : list nat -> H) (read : H -> nat) (think : nat -> option H -> H).
Let l := Full f r join.
Definition lone : each_w_stack.thinker := {|
  each_w_stack.only := {|
    each_w_stack.X := H; each_w_stack.Y := O r; each_w_stack.Q1 := Q f; each_w_stack.C1 := C f; each_w_stack.Sp := St r;
    each_w_stack.Sp_dec := St_dec r; each_w_stack.C1_dec := C_dec f; each_w_stack.pre := step r; each_w_stack.sp0 := st0 r;
    each_w_stack.query1 := query f; each_w_stack.contrib1 := contrib f;
    each_w_stack.e2 := tok 1; each_w_stack.e1 := tok 0; each_w_stack.e0 := tok0; each_w_stack.ew := fun w => tokw [0; w] |};
  each_w_stack.think := fun x o c => think 0 (Some (join x c o));
  each_w_stack.say := fun x o c => read (join x c o) |}.
Lemma lone_after q xs : fst (two_hops_stack.mealy (step r) q xs) = after l q xs.
Proof.
  revert q. induction xs as [|x xs IH]; intros q; [reflexivity|]. cbn [two_hops_stack.mealy after memory l].
  destruct (step r q x) as [q' o]. specialize (IH q'). destruct (two_hops_stack.mealy (step r) q' xs). exact IH.
Qed.
Lemma lone_holds xs x : holds [l] (xs ++ [x]) = Some (join x (told l x (xs ++ [x])) (snd (step r (after l (st0 r) xs) x))).
Proof. unfold holds, run. cbn [fold_left]. unfold run_layer. rewrite go_last. reflexivity. Qed.
Lemma lone_runs v z0 z1 z2 : each_w_stack.run_thinking lone v z0 z1 z2
  = thought_answer read [l] think 1 (input tok tok0 tokw z0 [0; v] [z1; z2]).
Proof.
  assert (E : input tok tok0 tokw z0 [0; v] [z1; z2] = each_w_stack.text (each_w_stack.only lone) z0 z1 z2 ++ [tokw [0; v]]).
  { unfold input, each_w_stack.text. cbn. unfold block. rewrite <- !app_assoc. reflexivity. }
  rewrite E. set (xs := each_w_stack.text (each_w_stack.only lone) z0 z1 z2). unfold each_w_stack.run_thinking, each_w_stack.answer_thinking.
  fold xs. cbn [each_w_stack.ew each_w_stack.only lone]. unfold thought_answer. cbn [thinking]. rewrite answer_holds, !lone_holds.
  unfold each_w_stack.thought, each_w_stack.after. cbn [each_w_stack.pre each_w_stack.sp0 each_w_stack.only lone each_w_stack.think each_w_stack.say].
  rewrite !lone_after, <- app_assoc. reflexivity.
Qed.
Lemma lone_size n1 m s w : stack_size [l] (n1 * m + m) w s -> each_w_stack.thinker_size lone m n1 s w.
Proof.
  intros [Hw Hs]. split.
  - intros t Ht. destruct (Hs t Ht) as [Ls [L1 L2]]. exists (map fst Ls). rewrite map_length. split; [exact L1|].
    intros xs Lx. cbn. rewrite lone_after. apply (in_map fst Ls (state_of [l] xs)), L2, Lx.
  - destruct (Hw l (or_introl eq_refl) eq_refl) as [Lw [L1 L2]]. exists Lw. split; [exact L1|]. exact L2.
Qed.
End Lone.
Theorem cannot_think_once_more m n1 more s w y h b J c e a q :
  each_w_stack.chk_w m n1 (w + s)%N (s + n1 * (w + y * w))%N y h b J c e a q && forallb (N.ltb 0) more = true ->
  let ns := map N.to_nat ([1; n1] ++ more)%N in
  forall (H : Type) tok tok0 tokw read (l : layer H) think, is_full l = true ->
  stack_size [l] (size (N.to_nat m) ns) (N.to_nat w) (N.to_nat s) ->
  thinker_errs tok tok0 tokw read [l] think 1 (N.to_nat m) ns.
Proof.
  intros E ns H tok tok0 tokw read l think Fl HS. apply andb_true_iff in E. destruct E as [E Em]. rewrite forallb_forall in Em.
  unfold ns in *. rewrite map_app in *. apply fewer_hops.
  { apply Forall_map, Forall_forall. intros v Hv. specialize (Em v Hv). apply N.ltb_lt in Em. lia. }
  apply (fewer_hops_size tok) in HS. set (s' := above tok (N.to_nat m) (map N.to_nat [1; n1]%N) (map N.to_nat more)) in *.
  cbn [all_begun] in *. assert (Fb : is_full (begun l s') = true) by (destruct l; [reflexivity|discriminate]).
  destruct (begun l s') as [f r join|]; [|discriminate].
  assert (Sz : size (N.to_nat m) (map N.to_nat [1; n1]%N) = N.to_nat n1 * N.to_nat m + N.to_nat m).
  { cbn [map size]. change (N.to_nat 1) with 1. rewrite Nat.mul_1_l. lia. }
  rewrite Sz in HS.
  destruct (each_w_stack.cannot_think_once m n1 s w y h b J c e a q E
              (lone f r join tok tok0 (fun ws => tokw (ws ++ zeros (map N.to_nat more))) read think) (lone_size f r join tok tok0 _ read think _ _ _ _ HS))
    as [v [z0 [z1 [z2 [Hv [Hz0 [Hz1 [Hz2 Err]]]]]]]].
  rewrite lone_runs in Err. exists z0, [0; v], [z1; z2]. split; [exact Hz0|]. cbn [map]. change (N.to_nat 1) with 1. split; [|split].
  - apply in_parts. split; [lia|]. apply in_parts. split; [exact Hv|left; reflexivity].
  - apply in_tables. rewrite Nat.mul_1_l. split; [exact Hz1|]. apply in_tables. split; [exact Hz2|left; reflexivity].
  - cbn [chain]. rewrite Nat.mul_0_l, Nat.add_0_l, Nat.mul_1_l. exact Err.
Qed.
