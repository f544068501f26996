(** The construction side of the depth rule, at the level of knowledge: which values of the
    chain i_0 = z_0, i_1 = z_1(i_0), i_{t+1} = z_{t+1}(w_t, i_t) the last token can hold.

    What a layer does is taken from the constructions with weights (constructions/
    composition_by_stack.py): softmax heads look up ONE table entry, whose address the
    token forms from what it holds and w; a linear layer hands over what the token z_0
    holds.  The token z_0 stands before w, so it can look up i_1 and nothing further.
    Proved: a stack follows kappa hops in one pass and phi more with each step of thought,
      kappa = F - 1 + [a layer without softmax heads stands before the second one with],
      phi = F, the number of layers with softmax heads;
    so kappa + T phi >= L suffices for L hops.  That weights do this exactly is not proved
    here: it is run, and certified, in Python. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.

(** A layer has softmax heads, with linear ones beside them or not; or linear ones alone. *)
Inductive layer := Softmax | HeadWise | Linear.
Definition full (l : layer) : bool := match l with Linear => false | _ => true end.
Definition phi (stack : list layer) : nat := length (filter full stack).
(** A linear layer stands before the second full one; [seen]: full ones that stand before. *)
Fixpoint early (seen : nat) (stack : list layer) : bool :=
  match stack with
  | [] => false
  | Linear :: _ => seen <? 2
  | _ :: stack => early (S seen) stack
  end.
Lemma early_late stack : forall seen, 2 <= seen -> early seen stack = false.
Proof.
  induction stack as [|[| |] stack IH]; intros seen H; simpl; auto. apply Nat.ltb_ge, H.
Qed.
(** kappa + 1, so that an empty stack has 0 *)
Definition reach (stack : list layer) : nat := phi stack + if early 0 stack then 1 else 0.
Definition kappa (stack : list layer) : nat := reach stack - 1.
Lemma kappa_lt stack T L : 0 < L -> kappa stack + T * phi stack < L <-> reach stack + T * phi stack <= L.
Proof.
  intros HL. unfold kappa, reach. destruct (phi stack) as [|f]; [|destruct (early 0 stack); lia].
  destruct (early 0 stack); lia.
Qed.

Section Chain.
Variables (z0 : nat) (look : nat -> nat -> nat) (L : nat).
  (* [look t x]: the entry of z_{t+1} that w and x address *)
Fixpoint value (t : nat) : nat := match t with 0 => z0 | S t => look t (value t) end.

(** What a token holds: nothing of the chain, or i_t for some t. *)
Definition held := option (nat * nat).
(** One look-up; who has arrived stays. *)
Definition advance (r : held) : held :=
  match r with
  | None => Some (0, z0)
  | Some (t, x) => if t <? L then Some (S t, look t x) else Some (t, x)
  end.
Definition count (r : held) : nat := match r with None => 0 | Some (t, _) => S t end.
Definition better (r r' : held) : held := if count r <? count r' then r' else r.

(** The last token and the token z_0, after one layer. *)
Definition through (l : layer) (now : held * held) : held * held :=
  match l with
  | Linear => (better (fst now) (snd now), snd now)
  | _ => (better (advance (fst now)) (snd now), if count (snd now) <? 2 then advance (snd now) else snd now)
  end.
Definition pass (stack : list layer) (start : held) : held :=
  fst (fold_left (fun now l => through l now) stack (start, Some (0, z0))).
(** A token of thought begins with what the one before holds. *)
Definition think (stack : list layer) (T : nat) : held := Nat.iter (S T) (pass stack) None.

Definition truthful (r : held) : Prop := match r with None => True | Some (t, x) => x = value t /\ t <= L end.
Lemma advance_truthful r : truthful r -> truthful (advance r).
Proof.
  destruct r as [[t x]|]; simpl; [|intros _; split; [reflexivity|lia]]. intros [-> H].
  destruct (t <? L) eqn:E; simpl; [apply Nat.ltb_lt in E; split; [reflexivity|lia]|auto].
Qed.
Lemma better_truthful r r' : truthful r -> truthful r' -> truthful (better r r').
Proof. unfold better. destruct (count r <? count r'); auto. Qed.
Lemma advance_count r : count r <= S L -> count (advance r) = Nat.min (S (count r)) (S L).
Proof.
  destruct r as [[t x]|]; cbn [count advance]; [|lia]. intros H. destruct (t <? L) eqn:E; cbn [count].
  - apply Nat.ltb_lt in E. lia.
  - apply Nat.ltb_ge in E. lia.
Qed.
Lemma better_count r r' : count (better r r') = Nat.max (count r) (count r').
Proof.
  unfold better. destruct (count r <? count r') eqn:E; [apply Nat.ltb_lt in E|apply Nat.ltb_ge in E]; lia.
Qed.

(** What is counted: a and b for the last token and z_0, never more than L + 1 *)
Definition step (l : layer) (a b : nat) : nat * nat :=
  match l with Linear => (Nat.max a b, b) | _ => (Nat.max (Nat.min (S a) (S L)) b, Nat.min 2 (S L)) end.
Lemma through_spec l r r0 : truthful r -> truthful r0 -> 1 <= count r0 <= Nat.min 2 (S L) -> count r <= S L ->
  let now := through l (r, r0) in
  truthful (fst now) /\ truthful (snd now) /\
  (count (fst now), count (snd now)) = step l (count r) (count r0) /\
  1 <= count (snd now) <= Nat.min 2 (S L) /\ count (fst now) <= S L.
Proof.
  intros H H0 Hb Ha. assert (A : count (if count r0 <? 2 then advance r0 else r0) = Nat.min 2 (S L)).
  { destruct (count r0 <? 2) eqn:E; [rewrite advance_count by lia; apply Nat.ltb_lt in E; lia|].
    apply Nat.ltb_ge in E. lia. }
  assert (B : truthful (if count r0 <? 2 then advance r0 else r0))
    by (destruct (count r0 <? 2); auto using advance_truthful).
  destruct l; unfold through, step, fst, snd; rewrite ?better_count, ?A, ?advance_count by lia;
    repeat split; auto using better_truthful, advance_truthful; try lia.
Qed.

(** [seen] full layers are passed, and the last token knows c values, as far as L lets it. *)
Lemma pass_spec stack : forall r r0 seen c, truthful r -> truthful r0 ->
  count r0 = Nat.min (if seen =? 0 then 1 else 2) (S L) -> count r = Nat.min c (S L) ->
  seen <= c -> (seen <> 0 -> c <> 0) ->
  let r' := fst (fold_left (fun now l => through l now) stack (r, r0)) in
  truthful r' /\
  count r' = Nat.min (S L) (phi stack + (if early seen stack then Nat.max c (S seen) else c)).
Proof.
  induction stack as [|l stack IH]; intros r r0 seen c H H0 Hb Ha Hs Hn.
  - cbn [fold_left fst early]. change (phi []) with 0. split; [assumption|]. lia.
  - pose proof (through_spec l r r0 H H0) as TS.
    assert (P1 : 1 <= count r0 <= Nat.min 2 (S L)) by (rewrite Hb; destruct (seen =? 0); lia).
    specialize (TS P1 ltac:(lia)). destruct TS as [T1 [T2 [T3 [T4 T5]]]].
    cbn [fold_left]. destruct (through l (r, r0)) as [q q0] eqn:EQ. cbn [fst snd] in *.
    destruct l.
    1,2: (unfold step in T3; pose proof (f_equal fst T3) as E1; pose proof (f_equal snd T3) as E0; cbn [fst snd] in E0, E1;
      destruct (IH q q0 (S seen) (Nat.max (S c) (if seen =? 0 then 1 else 2)) T1 T2) as [I1 I2];
        [cbn [Nat.eqb]; rewrite E0; clear; lia | rewrite E1, Ha, Hb; clear - Hs; destruct (seen =? 0); lia
        | clear - Hs; destruct (seen =? 0); lia | clear; lia | ];
      split; [exact I1|]; rewrite I2; unfold phi; cbn [filter full length early];
      clear - Hs Hn; destruct (early (S seen) stack); destruct (seen =? 0) eqn:Z;
      first [apply Nat.eqb_eq in Z | apply Nat.eqb_neq in Z]; lia).
    unfold step in T3. pose proof (f_equal fst T3) as E1. pose proof (f_equal snd T3) as E0. cbn [fst snd] in E0, E1.
    destruct (IH q q0 seen (Nat.max c (if seen =? 0 then 1 else 2)) T1 T2) as [I1 I2].
    + rewrite E0. exact Hb.
    + rewrite E1, Ha, Hb. destruct (seen =? 0); lia.
    + lia.
    + intros; destruct (seen =? 0); lia.
    + split; [exact I1|]. rewrite I2. unfold phi. cbn [filter full length early]. clear - Hs Hn.
      destruct (seen =? 0) eqn:Z; [apply Nat.eqb_eq in Z; subst|apply Nat.eqb_neq in Z].
      * change (0 <? 2) with true. destruct (early 0 stack); lia.
      * destruct (seen <? 2) eqn:W; [apply Nat.ltb_lt in W|apply Nat.ltb_ge in W].
        -- assert (seen = 1) by lia. subst. destruct (early 1 stack); lia.
        -- rewrite early_late by exact W. lia.
Qed.

(** One pass of a token that holds c values already: all of phi, and the early layer if c = 0. *)
Theorem one_pass stack : truthful (pass stack None) /\ count (pass stack None) = Nat.min (S L) (reach stack).
Proof.
  destruct (pass_spec stack None (Some (0, z0)) 0 0 I (conj eq_refl (Nat.le_0_l L)) eq_refl eq_refl
              (Nat.le_refl 0) (fun H => False_ind _ (H eq_refl))) as [H1 H2].
  split; [exact H1|]. etransitivity; [exact H2|]. unfold reach. destruct (early 0 stack); lia.
Qed.
Lemma later_pass stack r : truthful r -> count r = Nat.min (S L) (count r) -> 1 <= count r ->
  truthful (pass stack r) /\ Nat.min (S L) (count r + phi stack) <= count (pass stack r).
Proof.
  intros H Hc H1.
  destruct (pass_spec stack r (Some (0, z0)) 0 (count r) H (conj eq_refl (Nat.le_0_l L)) eq_refl
              ltac:(lia) ltac:(lia) ltac:(lia)) as [I1 I2].
  split; [exact I1|]. etransitivity; [|apply Nat.eq_le_incl; symmetry; exact I2]. destruct (early 0 stack); lia.
Qed.
Lemma held_most stack r : truthful r -> truthful (pass stack r) -> count (pass stack r) <= S L.
Proof. destruct (pass stack r) as [[t x]|]; simpl; [intros _ [_ H]; lia|lia]. Qed.

(** kappa + T phi >= L: after T steps of thought the last token holds i_L. *)
Theorem depth_rule stack T : 0 < reach stack -> L + 1 <= reach stack + T * phi stack ->
  think stack T = Some (L, value L).
Proof.
  intros Hr HL.
  assert (G : forall k, truthful (Nat.iter (S k) (pass stack) None) /\
    Nat.min (S L) (reach stack + k * phi stack) <= count (Nat.iter (S k) (pass stack) None) <= S L).
  { induction k as [|k [I1 I2]].
    - destruct (one_pass stack) as [H1 H2]. change (Nat.iter 1 (pass stack) None) with (pass stack None).
      split; [exact H1|]. rewrite H2. lia.
    - change (Nat.iter (S (S k)) (pass stack) None) with (pass stack (Nat.iter (S k) (pass stack) None)).
      set (r := Nat.iter (S k) (pass stack) None) in *.
      destruct (later_pass stack r I1) as [H1 H2]; [lia|lia|]. split; [exact H1|].
      split; [|apply held_most; assumption]. etransitivity; [|exact H2]. lia. }
  destruct (G T) as [H1 H2]. unfold think. destruct (Nat.iter (S T) (pass stack) None) as [[t x]|]; cbn [count truthful] in *; [|lia].
  destruct H1 as [-> H1]. assert (t = L) by lia. subst. reflexivity.
Qed.
End Chain.

(** The closed form on stacks that the papers name. *)
Lemma only_full (l : layer) n : full l = true -> phi (repeat l n) = n /\ forall k, early k (repeat l n) = false.
Proof.
  intros F. unfold phi. induction n as [|n [IH1 IH2]]; [split; reflexivity|].
  destruct l; try discriminate; (split; [simpl; f_equal; exact IH1|intros k; simpl; apply IH2]).
Qed.
Example softmax_layers n : reach (repeat Softmax n) = n.
Proof. unfold reach. destruct (only_full Softmax n eq_refl) as [-> ->]. lia. Qed.
Example head_wise_layers n : reach (repeat HeadWise n) = n.
Proof. unfold reach. destruct (only_full HeadWise n eq_refl) as [-> ->]. lia. Qed.
Example linear_first n : reach (Linear :: repeat Softmax n) = n + 1.
Proof.
  unfold reach. destruct (only_full Softmax n eq_refl) as [P _]. unfold phi in *. simpl. rewrite P. reflexivity.
Qed.
