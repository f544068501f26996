(** The networks of each_w_stack.v are no straw men: with sums of unbounded size they do
    solve composition of two hops.  (A sum is the list of all tokens.) *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state two_hops_stack each_w_stack.

Definition lists : monoid := {|
  carrier := list nat; add := @app nat; zero := []; add_assoc := @app_assoc nat;
  add_zero := fun a => eq_refl |}.
Definition trivial : monoid := {|
  carrier := unit; add := fun _ _ => tt; zero := tt; add_assoc := fun _ _ _ => eq_refl;
  add_zero := fun a => match a with tt => eq_refl end |}.
Definition unit_dec (a b : unit) : {a = b} + {a <> b} := match a, b with tt, tt => left eq_refl end.

Definition everything : first_layer := {|
  X := nat; Y := unit; Q1 := unit; C1 := lists; Sp := unit;
  Sp_dec := unit_dec; C1_dec := list_eq_dec Nat.eq_dec;
  pre := fun _ _ => (tt, tt); sp0 := tt; query1 := fun _ => tt; contrib1 := fun _ x => [x];
  e2 := fun _ v => v; e1 := fun _ v => v; e0 := fun v => v; ew := fun v => v |}.

Lemma told_everything x past : told everything x past = past.
Proof.
  unfold told. simpl. induction past as [|a past IH]; [reflexivity|]. simpl in *. f_equal. exact IH.
Qed.
Lemma text_everything z0 z1 z2 : text everything z0 z1 z2 = z2 ++ z1 ++ [z0].
Proof.
  assert (W : forall f i, wrv (fun _ v : nat => v) i f = f)
    by (induction f as [|v f IH]; intros i; simpl; [|rewrite IH]; reflexivity).
  unfold text. simpl. rewrite !W. reflexivity.
Qed.

Section Sizes.
Variables m n1 : nat.
Let N := n1 * m.
(** z_2, z_1, z_0, w and what may follow *)
Definition solved (l : list nat) : nat := nth (nth (N + m + 1) l 0 * m + nth (N + nth (N + m) l 0) l 0) l 0.

Lemma solved_right w z0 z1 z2 more : w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
  solved ((z2 ++ z1 ++ [z0]) ++ w :: more) = nth (w * m + nth z0 z1 0) z2 0.
Proof.
  intros Hw Hz0 H1 H2. pose proof (nwords_nth m m z1 z0 H1 Hz0) as Hv.
  apply in_nwords in H1, H2. destruct H1 as [L1 _], H2 as [L2 _].
  replace ((z2 ++ z1 ++ [z0]) ++ w :: more) with (z2 ++ z1 ++ z0 :: w :: more)
    by (rewrite <- !app_assoc; reflexivity).
  unfold solved.
  assert (E0 : nth (N + m) (z2 ++ z1 ++ z0 :: w :: more) 0 = z0).
  { rewrite app_nth2, app_nth2; rewrite ?L2, ?L1; try lia.
    replace (N + m - N - m) with 0 by lia. reflexivity. }
  assert (Ew : nth (N + m + 1) (z2 ++ z1 ++ z0 :: w :: more) 0 = w).
  { rewrite app_nth2, app_nth2; rewrite ?L2, ?L1; try lia.
    replace (N + m + 1 - N - m) with 1 by lia. reflexivity. }
  assert (E1 : nth (N + z0) (z2 ++ z1 ++ z0 :: w :: more) 0 = nth z0 z1 0).
  { rewrite app_nth2, app_nth1; rewrite ?L2, ?L1; try lia. f_equal. lia. }
  rewrite E0, Ew, E1. apply app_nth1. rewrite L2. unfold N. nia.
Qed.

Definition big_thinker : thinker := {|
  only := everything; think := fun _ _ _ => 0; say := fun _ _ c => solved c |}.
Theorem thinker_can w z0 z1 z2 : w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
  run_thinking big_thinker w z0 z1 z2 = nth (w * m + nth z0 z1 0) z2 0.
Proof.
  intros. unfold run_thinking, answer_thinking. cbn [say big_thinker only].
  rewrite told_everything, text_everything. apply (solved_right w z0 z1 z2 [_]); assumption.
Qed.

Definition big_two : two_layers := {|
  first := everything; Z := list nat; V := unit; Q2 := unit; C2 := trivial; Sq := unit; Sq_dec := unit_dec;
  join := fun _ _ c => c; post := fun _ _ => (tt, tt); sq0 := tt;
  query2 := fun _ => tt; contrib2 := fun _ _ => tt; read := fun z _ _ => solved z |}.
Theorem two_layers_can w z0 z1 z2 : w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
  run_two big_two w z0 z1 z2 = nth (w * m + nth z0 z1 0) z2 0.
Proof.
  intros. unfold run_two, answer, last_z. cbn [read join big_two first].
  rewrite told_everything, text_everything. apply (solved_right w z0 z1 z2 []); assumption.
Qed.
End Sizes.
