(** Stacks of layers, token by token, are stacks of levels as in many_hops.v: so depth is
    needed for composition of L hops, for every L.

    A full layer has heads that attend, and linear heads beside them or not (a state of one
    value); a linear layer has linear heads alone.  What tokens hold is of any type H.
    Of the linear layers the states are counted, of all of them TOGETHER: many of few bits
    each are a state of many bits. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state rectangle many_hops.
From Limen Require each_w_stack depth_rule.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** Heads that attend give a token the sum of what all tokens up to it contribute to its query.  Sums live
    in any monoid, which need not commute: numerators and denominators of softmax, running maxima, or the
    first match of many_hops_can.v.  So a lower bound holds for more than softmax, and a construction in
    this model is not yet one with weights. *)
Record attention (H : Type) := {
  Q : Type; C : monoid; C_dec : forall a b : carrier C, {a = b} + {a <> b};
  query : H -> Q; contrib : Q -> H -> carrier C }.
Record recurrent (H : Type) := {
  St : Type; St_dec : forall a b : St, {a = b} + {a <> b};
  O : Type; st0 : St; step : St -> H -> St * O }.
Arguments Q {H}. Arguments C {H}. Arguments C_dec {H}. Arguments query {H}. Arguments contrib {H}.
Arguments St {H}. Arguments St_dec {H}. Arguments O {H}. Arguments st0 {H}. Arguments step {H}.

(** What a token holds next: of what it held, of its sums, and of what its linear heads put out. *)
Inductive layer (H : Type) :=
  | Full (f : attention H) (r : recurrent H) (join : H -> carrier (C f) -> O r -> H)
  | Linear (r : recurrent H) (join : H -> O r -> H).
Arguments Full {H}. Arguments Linear {H}.

(** No heads that attend: sums of one value. *)
Definition nothing : monoid := {| carrier := unit; add := fun _ _ => tt; zero := tt;
  add_assoc := fun _ _ _ => eq_refl; add_zero := fun a => match a with tt => eq_refl end |}.
Definition no_heads (H : Type) : attention H := {|
  Q := unit; C := nothing; C_dec := fun a b => match a, b with tt, tt => left eq_refl end;
  query := fun _ => tt; contrib := fun _ _ => tt |}.

Section Stack.
Context {H : Type}.
Definition is_full (l : layer H) : bool := match l with Full _ _ _ => true | Linear _ _ => false end.
Definition heads (l : layer H) : attention H := match l with Full f _ _ => f | Linear _ _ => no_heads H end.
Definition memory (l : layer H) : recurrent H := match l with Full _ r _ => r | Linear r _ => r end.
Definition joined (l : layer H) : H -> carrier (C (heads l)) -> O (memory l) -> H :=
  match l with Full _ _ j => j | Linear _ j => fun h _ o => j h o end.

(** A layer on a text, from a state and a past. *)
Definition told (l : layer H) (h : H) (past : list H) : carrier (C (heads l)) :=
  total (contrib (heads l) (query (heads l) h)) past.
Fixpoint go (l : layer H) (q : St (memory l)) (past ys : list H) : list H :=
  match ys with
  | [] => []
  | y :: ys => let (q', o) := step (memory l) q y in
               joined l y (told l y (past ++ [y])) o :: go l q' (past ++ [y]) ys
  end.
Fixpoint after (l : layer H) (q : St (memory l)) (ys : list H) : St (memory l) :=
  match ys with [] => q | y :: ys => after l (fst (step (memory l) q y)) ys end.
Definition run_layer (l : layer H) (xs : list H) : list H := go l (st0 (memory l)) [] xs.
Definition run (ls : list (layer H)) (xs : list H) : list H := fold_left (fun xs l => run_layer l xs) ls xs.
(** The answer is read at the last token. *)
Definition answer (read : H -> nat) (ls : list (layer H)) (xs : list H) : nat := last (map read (run ls xs)) 0.

(** The states of all layers, after a text. *)
Fixpoint states (ls : list (layer H)) : Type :=
  match ls with [] => unit | l :: ls => (St (memory l) * states ls)%type end.
Fixpoint state_of (ls : list (layer H)) (xs : list H) : states ls :=
  match ls return states ls with
  | [] => tt
  | l :: ls => (after l (st0 (memory l)) xs, state_of ls (run_layer l xs))
  end.

(** ** Sizes: w bits for a sum over at most n tokens, s bits for the states of ALL layers together after any
    number of tokens up to n; the states may be others at other times.  Sums are counted over all lists of
    at most n things that tokens may hold, whether a text leads to them or not. *)
Definition reply_size (l : layer H) (n w : nat) : Prop :=
  exists Lw, length Lw <= 2 ^ w /\ forall h past, length past <= n -> In (told l h past) Lw.
Definition state_size (ls : list (layer H)) (n s : nat) : Prop :=
  forall t, t <= n -> exists Ls, length Ls <= 2 ^ s /\ forall xs, length xs = t -> In (state_of ls xs) Ls.
Definition stack_size (ls : list (layer H)) (n w s : nat) : Prop :=
  (forall l, In l ls -> is_full l = true -> reply_size l n w) /\ state_size ls n s.

(** ** One layer *)
Lemma go_app l a b : forall q past,
  go l q past (a ++ b) = go l q past a ++ go l (after l q a) (past ++ a) b.
Proof.
  induction a as [|y a IH]; intros q past; simpl; [rewrite app_nil_r; reflexivity|].
  destruct (step (memory l) q y) as [q' o]. simpl. rewrite IH, <- app_assoc. reflexivity.
Qed.
Lemma go_length l ys : forall q past, length (go l q past ys) = length ys.
Proof.
  induction ys as [|y ys IH]; intros q past; simpl; [reflexivity|].
  destruct (step (memory l) q y) as [q' o]. simpl. rewrite IH. reflexivity.
Qed.
Lemma told_app l h a b : told l h (a ++ b) = add (told l h a) (told l h b).
Proof. apply total_app. Qed.
(** Two pasts that tell the tokens of ys the same. *)
Lemma go_same l s s' ys : (forall h, In h ys -> told l h s = told l h s') ->
  forall q past, go l q (s ++ past) ys = go l q (s' ++ past) ys.
Proof.
  induction ys as [|y ys IH]; intros E q past; simpl; [reflexivity|].
  destruct (step (memory l) q y) as [q' o]. rewrite <- !app_assoc. f_equal.
  - rewrite !told_app, (E y (or_introl eq_refl)). reflexivity.
  - apply IH. intros h Hh. apply E. right. exact Hh.
Qed.
Lemma go_same' l q s s' ys : (forall h, In h ys -> told l h s = told l h s') -> go l q s ys = go l q s' ys.
Proof. intros E. pose proof (go_same l s s' ys E q []) as G. rewrite !app_nil_r in G. exact G. Qed.
Lemma told_linear l h s s' : is_full l = false -> told l h s = told l h s'.
Proof. destruct l; [discriminate|]. intros _. unfold told. simpl. destruct (total _ s), (total _ s'). reflexivity. Qed.

(** ** Many layers: what they do to the tokens of y, after s. *)
Fixpoint tail (ls : list (layer H)) (s y : list H) : list H :=
  match ls with
  | [] => y
  | l :: ls => tail ls (run_layer l s) (go l (after l (st0 (memory l)) s) s y)
  end.
Lemma run_cons l ls xs : run (l :: ls) xs = run ls (run_layer l xs). Proof. reflexivity. Qed.
Lemma run_app_layers a b xs : run (a ++ b) xs = run b (run a xs).
Proof. apply fold_left_app. Qed.
Lemma run_tail ls : forall s y, run ls (s ++ y) = run ls s ++ tail ls s y.
Proof.
  induction ls as [|l ls IH]; intros s y; [reflexivity|]. rewrite !run_cons. simpl.
  unfold run_layer at 1. rewrite go_app. apply IH.
Qed.
Lemma run_length ls : forall xs, length (run ls xs) = length xs.
Proof.
  induction ls as [|l ls IH]; intros xs; [reflexivity|]. rewrite run_cons, IH. apply go_length.
Qed.
Lemma tail_app_layers a b : forall s y, tail (a ++ b) s y = tail b (run a s) (tail a s y).
Proof. induction a as [|l a IH]; intros s y; [reflexivity|]. simpl. rewrite IH. reflexivity. Qed.
Lemma tail_length ls : forall s y, length (tail ls s y) = length y.
Proof. induction ls as [|l ls IH]; intros s y; simpl; [reflexivity|]. rewrite IH. apply go_length. Qed.
Lemma tail_app ls s a b : tail ls s (a ++ b) = tail ls s a ++ tail ls (s ++ a) b.
Proof.
  apply (app_inv_head (run ls s)). rewrite <- run_tail, !app_assoc, <- run_tail, <- run_tail. reflexivity.
Qed.
Fixpoint same_states (ls : list (layer H)) (s s' : list H) : Prop :=
  match ls with
  | [] => True
  | l :: ls => after l (st0 (memory l)) s = after l (st0 (memory l)) s' /\ same_states ls (run_layer l s) (run_layer l s')
  end.
Lemma state_of_same ls : forall s s', state_of ls s = state_of ls s' -> same_states ls s s'.
Proof.
  induction ls as [|l ls IH]; intros s s' E; simpl in *; [exact I|].
  split; [exact (f_equal fst E)|]. apply IH. exact (f_equal snd E).
Qed.
Lemma same_states_app a b : forall s s',
  same_states (a ++ b) s s' <-> same_states a s s' /\ same_states b (run a s) (run a s').
Proof.
  induction a as [|l a IH]; intros s s'; simpl; [tauto|]. rewrite IH. unfold run. simpl. tauto.
Qed.
Lemma linear_same ls : (forall l, In l ls -> is_full l = false) -> forall s s' y,
  same_states ls s s' -> tail ls s y = tail ls s' y.
Proof.
  induction ls as [|l ls IH]; intros Hl s s' y E; [reflexivity|]. simpl in *. destruct E as [E E'].
  rewrite E, (go_same' l _ s s') by (intros h _; apply told_linear, Hl; auto).
  apply IH; [intros l' Hl'; apply Hl; auto|exact E'].
Qed.

(** What a token holds, by the text up to it. *)
Definition holds (ls : list (layer H)) (xs : list H) : option H := last (map Some (run ls xs)) None.
Lemma last_app {T} (l l' : list T) d : l' <> [] -> last (l ++ l') d = last l' d.
Proof.
  intros Hn. induction l as [|x l IH]; [reflexivity|]. simpl.
  destruct (l ++ l') eqn:E; [apply app_eq_nil in E; tauto|exact IH].
Qed.
Lemma prefixes_snoc {T} (y : list T) x : prefixes (y ++ [x]) = prefixes y ++ [y ++ [x]].
Proof. induction y as [|a y IH]; simpl; [reflexivity|]. rewrite IH, map_app. reflexivity. Qed.
Lemma tail_holds ls s y : map Some (tail ls s y) = map (fun v => holds ls (s ++ v)) (prefixes y).
Proof.
  induction y as [|x y IH] using rev_ind.
  - pose proof (tail_length ls s []) as L. destruct (tail ls s []); [reflexivity|discriminate].
  - rewrite prefixes_snoc, tail_app, !map_app, IH. f_equal. simpl.
    unfold holds. rewrite app_assoc, run_tail, map_app.
    pose proof (tail_length ls (s ++ y) [x]) as L. destruct (tail ls (s ++ y) [x]) as [|h [|h' t]]; try discriminate.
    simpl. rewrite last_last. reflexivity.
Qed.
Lemma same_holds ls s s' y : (forall v, In v (prefixes y) -> holds ls (s ++ v) = holds ls (s' ++ v)) ->
  tail ls s y = tail ls s' y.
Proof.
  intros E. assert (G : map Some (tail ls s y) = map Some (tail ls s' y)).
  { rewrite !tail_holds. apply map_ext_in. exact E. }
  revert G. generalize (tail ls s y), (tail ls s' y). induction l as [|a l IH]; intros [|b l'] G; try discriminate;
    [reflexivity|].
  simpl in G. injection G as -> G. f_equal. apply IH, G.
Qed.
Lemma holds_same ls s s' y : y <> [] -> tail ls s y = tail ls s' y -> holds ls (s ++ y) = holds ls (s' ++ y).
Proof.
  intros Hy E. unfold holds. rewrite !run_tail, !map_app, E.
  assert (N : map Some (tail ls s' y) <> []).
  { intros G. apply (f_equal (@length _)) in G. rewrite map_length, tail_length in G. destruct y;
      [congruence|discriminate]. }
  rewrite !last_app by exact N. reflexivity.
Qed.
Lemma answer_holds read ls xs : answer read ls xs = match holds ls xs with Some h => read h | None => 0 end.
Proof.
  unfold answer, holds. induction (run ls xs) as [|a l IH]; [reflexivity|]. simpl.
  destruct l; [reflexivity|exact IH].
Qed.

(** ** Levels: the layers before the (k + 1)-st full one. *)
Fixpoint upto (k : nat) (ls : list (layer H)) : list (layer H) :=
  match ls with
  | [] => []
  | l :: ls => if is_full l then match k with 0 => [] | S k => l :: upto k ls end else l :: upto k ls
  end.
(** The (k + 1)-st full layer and the linear ones after it. *)
Lemma upto_S ls : forall k, upto (S k) ls = upto k ls \/ exists f lins,
  upto (S k) ls = upto k ls ++ f :: lins /\ is_full f = true /\ (forall l, In l lins -> is_full l = false) /\ In f ls.
Proof.
  induction ls as [|l ls IH]; intros k; [left; reflexivity|]. cbn [upto]. destruct (is_full l) eqn:E.
  - destruct k as [|k].
    + right. exists l, (upto 0 ls). split; [reflexivity|]. split; [exact E|]. split; [|left; reflexivity].
      clear. induction ls as [|l ls IH]; intros l' Hl'; [destruct Hl'|]. cbn [upto] in Hl'.
      destruct (is_full l) eqn:E; [destruct Hl'|]. destruct Hl' as [<-|Hl']; [exact E|auto].
    + destruct (IH k) as [G|[f [lins [G1 [G2 [G3 G4]]]]]]; [left; rewrite G; reflexivity|right].
      exists f, lins. rewrite G1. repeat split; auto. right. exact G4.
  - destruct (IH k) as [G|[f [lins [G1 [G2 [G3 G4]]]]]]; [left; f_equal; exact G|right].
    exists f, lins. rewrite G1. repeat split; auto. right. exact G4.
Qed.
Lemma upto_0 ls l : In l (upto 0 ls) -> is_full l = false.
Proof.
  induction ls as [|l' ls IH]; intros Hl; [destruct Hl|]. cbn [upto] in Hl.
  destruct (is_full l') eqn:E; [destruct Hl|]. destruct Hl as [<-|Hl]; [exact E|auto].
Qed.
Lemma upto_all ls : forall k, length (filter is_full ls) <= k -> upto k ls = ls.
Proof.
  induction ls as [|l ls IH]; intros k Hk; [reflexivity|]. simpl in *. destruct (is_full l); simpl in Hk.
  - destruct k; [lia|]. rewrite IH by lia. reflexivity.
  - rewrite IH by exact Hk. reflexivity.
Qed.
Lemma upto_prefix ls : forall k, exists rest, ls = upto k ls ++ rest.
Proof.
  induction ls as [|l ls IH]; intros k; [exists []; reflexivity|]. cbn [upto]. destruct (is_full l).
  - destruct k; [exists (l :: ls); reflexivity|]. destruct (IH k) as [rest E]. exists rest. simpl. rewrite <- E.
    reflexivity.
  - destruct (IH k) as [rest E]. exists rest. simpl. rewrite <- E. reflexivity.
Qed.

(** A sum as a number. *)
Lemma reply_code l n w : reply_size l n w -> exists say : H -> list H -> nat,
  (forall h past, say h past < 2 ^ w) /\
  (forall h s s', length s <= n -> length s' <= n -> say h s = say h s' -> told l h s = told l h s').
Proof.
  intros [Lw [HL Hin]]. exists (fun h past => code (C_dec (heads l)) Lw (told l h past)). split.
  - intros h past. eapply Nat.lt_le_trans; [apply code_lt|exact HL].
    specialize (Hin h [] (Nat.le_0_l n)). destruct Lw; [destruct Hin|simpl; lia].
  - intros h s s' Hs Hs' E. rewrite <- (code_nth (C_dec (heads l)) Lw (told l h s) (told l h s)) by (apply Hin, Hs).
    rewrite <- (code_nth (C_dec (heads l)) Lw (told l h s') (told l h s)) by (apply Hin, Hs'). rewrite E. reflexivity.
Qed.
(** All states as a number. *)
Fixpoint states_dec (ls : list (layer H)) : forall a b : states ls, {a = b} + {a <> b}.
Proof.
  destruct ls as [|l ls]; simpl; [intros [] []; left; reflexivity|].
  intros [a b] [a' b']. destruct (St_dec (memory l) a a') as [->|N]; [|right; congruence].
  destruct (states_dec ls b b') as [->|N]; [left; reflexivity|right; congruence].
Defined.
Lemma state_code ls n s : state_size ls n s -> exists number : list H -> nat,
  (forall xs, number xs < 2 ^ s) /\
  (forall xs xs', length xs = length xs' -> length xs <= n -> number xs = number xs' -> same_states ls xs xs').
Proof.
  intros Hs.
  destruct (finite_choice (fun t Ls => length Ls <= 2 ^ s /\ forall xs, length xs = t -> In (state_of ls xs) Ls)
              [] (S n)) as [Ls HL]; [intros t Ht; apply Hs; lia|].
  exists (fun xs => if length xs <=? n then code (states_dec ls) (Ls (length xs)) (state_of ls xs) else 0). split.
  - intros xs. destruct (length xs <=? n) eqn:E; [|pose proof (Nat.pow_nonzero 2 s); lia]. apply Nat.leb_le in E.
    destruct (HL (length xs) ltac:(lia)) as [HL1 HL2]. specialize (HL2 xs eq_refl).
    eapply Nat.lt_le_trans; [apply code_lt|exact HL1]. destruct (Ls (length xs)); [destruct HL2|simpl; lia].
  - intros xs xs' L Hx. rewrite <- L. apply Nat.leb_le in Hx. rewrite Hx. apply Nat.leb_le in Hx. intros E.
    apply state_of_same. destruct (HL (length xs) ltac:(lia)) as [_ HL2].
    rewrite <- (code_nth (states_dec ls) (Ls (length xs)) (state_of ls xs) (state_of ls xs)) by (apply HL2;
      reflexivity).
    rewrite <- (code_nth (states_dec ls) (Ls (length xs)) (state_of ls xs') (state_of ls xs)) by (apply HL2; auto).
    rewrite E. reflexivity.
Qed.

(** ** The stack as levels: level k is [base] and the layers of [ls] before the (k + 1)-st full one. *)
Section AsLevels.
Variables base ls : list (layer H).
Variables n w s : nat.
Hypothesis Hreply : forall l, In l ls -> is_full l = true -> reply_size l n w.
Hypothesis Hstate : state_size (base ++ ls) n s.
Definition level (k : nat) : list (layer H) := base ++ upto k ls.

Lemma level_states k xs xs' : same_states (base ++ ls) xs xs' -> same_states (level k) xs xs'.
Proof.
  destruct (upto_prefix ls k) as [rest E]. intros G. rewrite E, app_assoc in G. apply same_states_app in G. tauto.
Qed.
(** The sums of the (k + 1)-st full layer, as numbers. *)
Lemma level_code k : exists say : H -> list H -> nat,
  (forall h past, say h past < 2 ^ w) /\
  (forall xs xs' y, length xs = length xs' -> length xs <= n -> same_states (base ++ ls) xs xs' ->
     tail (level k) xs y = tail (level k) xs' y ->
     (forall h, In h (tail (level k) xs y) -> say h (run (level k) xs) = say h (run (level k) xs')) ->
     tail (level (S k)) xs y = tail (level (S k)) xs' y).
Proof.
  unfold level. destruct (upto_S ls k) as [E|[f [lins [E [Ff [Hl Hin]]]]]].
  - exists (fun _ _ => 0). split; [intros; pose proof (Nat.pow_nonzero 2 w); lia|].
    intros xs xs' y _ _ _ Ht _. rewrite E. exact Ht.
  - destruct (reply_code f n w (Hreply f Hin Ff)) as [say [Hs1 Hs2]]. exists say. split; [exact Hs1|].
    intros xs xs' y L Hn Hst Ht Hsay. apply (level_states (S k)) in Hst. unfold level in Hst.
    rewrite E, app_assoc in Hst |- *. apply same_states_app in Hst. destruct Hst as [_ Hst]. simpl in Hst.
    destruct Hst as [H1 H2].
    rewrite !(tail_app_layers (base ++ upto k ls)). simpl. rewrite <- Ht, <- H1.
    set (r := run (base ++ upto k ls) xs) in *. set (r' := run (base ++ upto k ls) xs') in *.
    rewrite (go_same' f _ r r').
    + apply linear_same; [exact Hl|exact H2].
    + intros h Hh. apply Hs2; [unfold r; rewrite run_length; exact Hn|unfold r'; rewrite run_length; lia|auto].
Qed.

Variable tok : nat -> nat -> nat -> H.
Variables (tok0 : nat -> H) (tokw : list nat -> H) (read : H -> nat).
Variables (m : nat) (ns : list nat).
(** The input: z_L ... z_1, z_0, w. *)
Definition input (z0 : nat) (ws : list nat) (zs : list (list nat)) : list H :=
  text H tok 0 zs ++ [tok0 z0; tokw ws].

(** Level 0: what the last token holds is settled by the states and by a sum of its own. *)
Variables (w0 : nat) (raw : list H -> H -> nat).
Hypothesis raw_bits : forall xs x, raw xs x < 2 ^ w0.
Hypothesis level_0 : forall xs xs' y x, length xs = length xs' -> length xs <= n ->
  same_states (base ++ ls) xs xs' -> raw xs x = raw xs' x ->
  holds (level 0) (xs ++ y ++ [x]) = holds (level 0) (xs' ++ y ++ [x]).

Lemma levels_err x0 plan lam lg last_level :
  length ns = S last_level -> length (filter is_full ls) <= last_level ->
  size m ns <= n -> x0 <= m ->
  fits w0 w s lam lg 0 m (s + w0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  exists z0 ws zs, z0 < m /\ In ws (parts ns) /\ In zs (tables m ns) /\
    answer read (base ++ ls) (input z0 ws zs) <> chain m z0 ns ws zs.
Proof.
  intros HL HF Hm Hx Hf. destruct (state_code _ _ _ Hstate) as [number [Hn1 Hn2]].
  destruct (finite_choice (fun k say => (forall h past, say h past < 2 ^ w) /\
    (forall xs xs' y, length xs = length xs' -> length xs <= n -> same_states (base ++ ls) xs xs' ->
     tail (level k) xs y = tail (level k) xs' y ->
     (forall h, In h (tail (level k) xs y) -> say h (run (level k) xs) = say h (run (level k) xs')) ->
     tail (level (S k)) xs y = tail (level (S k)) xs' y)) (fun _ _ => 0) (S last_level)) as [say Hsay];
    [intros k _; apply level_code|].
  set (held := fun k xs => holds (level (Nat.min k last_level)) xs).
  set (reply := fun k xs v => match held k v with
    | Some h => if k <? S last_level then say k h (run (level k) xs) else 0
    | None => 0
    end).
  assert (P : 0 < 2 ^ w) by (pose proof (Nat.pow_nonzero 2 w); lia).
  apply (many_hops_errs H (fun k xs xs' => held k xs = held k xs')) with (raw := raw) (reply := reply) (state := number)
    (most := n) (beta0 := w0) (beta := w) (sigma := s) (last_level := last_level) (x0 := x0) (plan := plan)
    (lam := lam) (lg := lg) (answer := answer read (base ++ ls)); auto.
  - intros k xs xs' xs'' E E'. rewrite E. exact E'.
  - intros k xs v v' E. unfold reply. rewrite E. reflexivity.
  - intros xs xs' y x L Hn E Er. unfold held. simpl Nat.min. apply level_0; auto.
  - intros k xs xs' y Hy L Hn E Hv. unfold reply, held in *.
    destruct (le_lt_dec last_level k) as [G|G].
    { replace (Nat.min (S k) last_level) with (Nat.min k last_level) by lia.
      apply (Hv y). apply prefixes_self, Hy. }
    rewrite !Nat.min_l in * by lia. apply holds_same; [exact Hy|].
    assert (T : tail (level k) xs y = tail (level k) xs' y) by (apply same_holds; intros v Hp; apply (Hv v Hp)).
    destruct (Hsay k ltac:(lia)) as [_ Hs2]. apply Hs2; auto.
    intros h Hh. assert (Hh' : In (Some h) (map Some (tail (level k) xs y))) by (apply in_map, Hh).
    rewrite tail_holds in Hh'. apply in_map_iff in Hh'. destruct Hh' as [v [Ev Hp]].
    destruct (Hv v Hp) as [E1 E2]. rewrite <- E1, Ev in E2.
    assert (Hk : k <? S last_level = true) by (apply Nat.ltb_lt; lia). rewrite Hk in E2. exact E2.
  - intros k xs v. unfold reply. destruct (held k v) as [h|]; [|exact P]. destruct (k <? S last_level) eqn:E;
      [|exact P].
    apply Nat.ltb_lt in E. apply (Hsay k E).
  - intros xs xs' E. unfold held in E. rewrite Nat.min_id in E. unfold level in E.
    rewrite (upto_all ls last_level HF) in E. rewrite !answer_holds, E. reflexivity.
Qed.
End AsLevels.

(** ** The theorem for stacks *)
Definition kind (l : layer H) : depth_rule.layer := if is_full l then depth_rule.HeadWise else depth_rule.Linear.
(** As in depth_rule.v: phi full layers; kappa = phi, less one if no linear layer stands before the second
    full one. *)
Definition phi (ls : list (layer H)) : nat := length (filter is_full ls).
Definition kappa (ls : list (layer H)) : nat := depth_rule.kappa (map kind ls).

(** Some input of composition of L = length ns hops is answered wrongly. *)
Definition errs (tok : nat -> nat -> nat -> H) (tok0 : nat -> H) (tokw : list nat -> H) (read : H -> nat)
  (ls : list (layer H)) (m : nat) (ns : list nat) : Prop :=
  exists z0 ws zs, z0 < m /\ In ws (parts ns) /\ In zs (tables m ns) /\
    answer read ls (input tok tok0 tokw z0 ws zs) <> chain m z0 ns ws zs.

Lemma phi_full ls : depth_rule.phi (map kind ls) = phi ls.
Proof.
  unfold depth_rule.phi, phi. induction ls as [|l ls IH]; [reflexivity|]. simpl. unfold kind at 1.
  destruct (is_full l); simpl; rewrite IH; reflexivity.
Qed.
(** What kappa + T phi < L says of the layers. *)
Lemma kappa_lt ls T L : 0 < L -> kappa ls + T * phi ls < L ->
  phi ls + (if depth_rule.early 0 (map kind ls) then 1 else 0) + T * phi ls <= L.
Proof.
  intros HL Hk. rewrite <- phi_full in *. apply (depth_rule.kappa_lt (map kind ls) T L HL), Hk.
Qed.
Lemma go_last l q past y x : last (map Some (go l q past (y ++ [x]))) None
  = Some (joined l x (told l x (past ++ y ++ [x])) (snd (step (memory l) (after l q y) x))).
Proof.
  rewrite go_app, map_app. simpl. destruct (step (memory l) (after l q y) x) as [q' o]. simpl.
  rewrite last_last, <- app_assoc. reflexivity.
Qed.

(** w0: bits of the first layer's sums, where these are raw; none if there are fewer full layers than hops. *)
Theorem stack_errs tok tok0 tokw read (ls : list (layer H)) m ns w0 w s x0 plan lam lg :
  phi ls < length ns \/ (kappa ls < length ns /\ w <= w0) ->
  stack_size ls (size m ns) w s -> x0 <= m ->
  fits w0 w s lam lg 0 m (s + w0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  errs tok tok0 tokw read ls m ns.
Proof.
  intros HR [Hw Hs] Hx Hf. destruct ns as [|n0 ns'] eqn:En; [destruct Hf|]. rewrite <- En in *.
  set (last_level := length ns'). assert (HL : length ns = S last_level) by (rewrite En; reflexivity).
  assert (HR' : phi ls < length ns \/
    (phi ls + (if depth_rule.early 0 (map kind ls) then 1 else 0) <= length ns /\ w <= w0)).
  { destruct HR as [HR|[HR Hw0]]; [left; exact HR|right; split; [|exact Hw0]].
    pose proof (kappa_lt ls 0 (length ns) ltac:(lia) ltac:(lia)). lia. }
  clear HR. rename HR' into HR. unfold phi in HR.
  destruct (le_lt_dec (length (filter is_full ls)) last_level) as [HF|HF].
  - (* one level for each full layer, and one before *)
    assert (P : 0 < 2 ^ w0) by (pose proof (Nat.pow_nonzero 2 w0); lia).
    apply (levels_err [] ls (size m ns) w s Hw Hs tok tok0 tokw read m ns w0 (fun _ _ => 0)) with
      (x0 := x0) (plan := plan)
      (lam := lam) (lg := lg) (last_level := last_level); auto.
    intros xs xs' y x _ _ Hst _. apply holds_same; [destruct y; discriminate|].
    apply linear_same; [intros l; apply (upto_0 ls)|]. apply (level_states [] ls 0), Hst.
  - (* no linear layer before the second full one: the first is level 0 *)
    destruct HR as [HR|[HR Hw0]]; [lia|].
    destruct (depth_rule.early 0 (map kind ls)) eqn:Ee; [lia|].
    destruct ls as [|f ls']; [simpl in HF; lia|]. simpl in Ee. unfold kind at 1 in Ee.
    destruct (is_full f) eqn:Ff; [|discriminate].
    assert (U : upto 0 ls' = []).
    { destruct ls' as [|f' ls'']; [reflexivity|]. simpl in *. unfold kind at 1 in Ee.
      destruct (is_full f'); [reflexivity|discriminate]. }
    destruct (reply_code f (size m ns) w (Hw f (or_introl eq_refl) Ff)) as [say [Hs1 Hs2]].
    apply (levels_err [f] ls' (size m ns) w s (fun l Hl => Hw l (or_intror Hl)) Hs tok tok0 tokw read m ns w0
             (fun xs x => say x xs)) with
               (x0 := x0) (plan := plan) (lam := lam) (lg := lg) (last_level := last_level); auto.
    + intros xs x. eapply Nat.lt_le_trans; [apply Hs1|]. apply Nat.pow_le_mono_r; lia.
    + intros xs xs' y x L Hn [Hst _] Er. unfold level. rewrite U. simpl app.
      apply (Hs2 x) in Er; [|exact Hn|lia]. unfold holds, run. simpl fold_left. unfold run_layer.
      rewrite !(app_assoc _ y [x]), !go_last, <- !app_assoc, !told_app, Er. do 3 f_equal.
      assert (A : forall q a b, after f q (a ++ b) = after f (after f q a) b).
      { intros q a. revert q. induction a as [|h a IH]; intros q b; simpl; auto. }
      rewrite !A, Hst. reflexivity.
    + simpl in HR, HF. rewrite Ff in HR, HF. simpl in HR, HF. rewrite HL in HR. lia.
Qed.

(** ** States layer by layer: bits add up. *)
Definition layer_state_size (l : layer H) (n s : nat) : Prop :=
  forall t, t <= n -> exists Ls, length Ls <= 2 ^ s /\
    forall xs, length xs = t -> In (after l (st0 (memory l)) xs) Ls.
Lemma state_size_sum (ls : list (layer H)) n : forall ss, Forall2 (fun l s => layer_state_size l n s) ls ss ->
  state_size ls n (list_sum ss).
Proof.
  induction ls as [|l ls IH]; intros ss F; inversion F; subst; intros t Ht.
  - exists [tt]. simpl. split; [lia|]. intros; left; reflexivity.
  - destruct (H2 t Ht) as [L1 [A1 B1]]. destruct (IH l' H4 t Ht) as [L2 [A2 B2]].
    exists (list_prod L1 L2). split.
    { etransitivity; [apply Nat.eq_le_incl, (prod_length L1 L2)|]. simpl list_sum. rewrite Nat.pow_add_r.
      apply Nat.mul_le_mono; assumption. }
    intros xs Lx. simpl. apply in_prod; [auto|].
    apply B2. unfold run_layer. rewrite go_length. exact Lx.
Qed.
End Stack.
