(** The hypotheses of composition_depth can be met: with unbounded size the hybrid model does solve 2-SeqComp. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state two_hops two_hops_stack composition_depth.

Section Big.
Variables m n1 : nat.
Let N := n1 * m.
Definition bpre (s : list nat) (x : nat) : list nat * list nat := (s ++ [x], s ++ [x]).
Definition bpost (s : unit) (y : list nat) : unit * nat :=
  (tt, nth (nth (n1 * m + m + 1) y 0 * m + nth (n1 * m + nth (n1 * m + m) y 0) y 0) y 0).
Definition Big : hybrid := {|
  hX := nat; hY := list nat; hQ := unit; hC := unit; hW := list nat; hSp := list nat; hSq := unit;
  h_dec := list_eq_dec Nat.eq_dec;
  h_pre := bpre; h_sp0 := []; h_post := bpost; h_sq0 := tt;
  h_add := fun _ _ => tt; h_zero := tt;
  h_assoc := fun _ _ _ => eq_refl; h_unit := fun a => match a with tt => eq_refl end;
  h_query := fun _ => tt; h_contrib := fun _ _ => tt; h_mlp := fun y _ => y;
  h_e2 := fun _ v => v; h_e1 := fun _ v => v; h_e0 := fun v => v; h_ew := fun v => v |}.

Lemma wrv_id f : forall i, wrv (fun _ v : nat => v) i f = f.
Proof. induction f as [|v f IH]; intros i; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma bpre_last u x : forall s, last (snd (mealy bpre s (u ++ [x]))) [] = s ++ u ++ [x].
Proof.
  intros s. rewrite mealy_app_snd. simpl. rewrite last_last.
  assert (E : fst (mealy bpre s u) = s ++ u).
  { revert s. induction u as [|y u IH]; intros s; simpl; [rewrite app_nil_r; reflexivity|].
    specialize (IH (s ++ [y])). destruct (mealy bpre (s ++ [y]) u). simpl in *.
    rewrite IH, <- app_assoc. reflexivity. }
  rewrite E, <- app_assoc. reflexivity.
Qed.

Lemma full_id ys : forall past,
  full (list nat) unit unit (list nat) (fun _ _ => tt) tt (fun _ => tt) (fun _ _ => tt) (fun y _ => y) past ys = ys.
Proof. induction ys as [|y ys IH]; intros past; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma bpost_map ys : forall s, snd (mealy bpost s ys) = map (fun y => snd (bpost tt y)) ys.
Proof.
  induction ys as [|y ys IH]; intros s; simpl; [reflexivity|].
  specialize (IH tt). destruct (mealy bpost tt ys). simpl in *. rewrite IH. reflexivity.
Qed.

Lemma last_map {A B} (f : A -> B) l d d' : l <> [] -> last (map f l) d' = f (last l d).
Proof.
  induction l as [|a l IH]; [congruence|]. intros _. destruct l as [|b l]; [reflexivity|].
  change (last (map f (b :: l)) d' = f (last (b :: l) d)). apply IH. discriminate.
Qed.

Theorem big_correct w z0 z1 z2 : w < n1 -> z0 < m -> In z1 (nwords m m) -> In z2 (nwords N N) ->
  run_hybrid Big w z0 z1 z2 = nth (w * m + nth z0 z1 0) z2 0.
Proof.
  intros Hw Hz0 H1 H2. pose proof (nwords_nth m m z1 z0 H1 Hz0) as Hv.
  apply in_nwords in H1, H2. destruct H1 as [L1 _], H2 as [L2 _].
  unfold run_hybrid, net, input. simpl. rewrite !wrv_id, full_id, bpost_map.
  replace (z2 ++ z1 ++ [z0; w]) with ((z2 ++ z1 ++ [z0]) ++ [w])
    by (rewrite <- !app_assoc; reflexivity).
  rewrite last_map with (d := []).
  2: { intros E. apply (f_equal (@length _)) in E. rewrite mealy_len, !app_length in E. simpl in E. lia. }
  rewrite bpre_last. simpl app at 1. unfold bpost. cbn [snd].
  set (y := (z2 ++ z1 ++ [z0]) ++ [w]).
  assert (Ew : nth (n1 * m + m + 1) y 0 = w).
  { unfold y. rewrite app_nth2; rewrite !app_length, L1, L2; simpl; unfold N; [|lia].
    replace (n1 * m + m + 1 - (n1 * m + (m + 1))) with 0 by lia. reflexivity. }
  assert (Y : y = z2 ++ (z1 ++ [z0; w])) by (unfold y; rewrite <- !app_assoc; reflexivity).
  assert (E0 : nth (n1 * m + m) y 0 = z0).
  { rewrite Y, app_nth2, app_nth2; rewrite ?L2, ?L1; unfold N; try lia.
    replace (n1 * m + m - n1 * m - m) with 0 by lia. reflexivity. }
  assert (E1 : nth (n1 * m + z0) y 0 = nth z0 z1 0).
  { rewrite Y, app_nth2, app_nth1; rewrite ?L2, ?L1; unfold N; try lia.
    f_equal. lia. }
  rewrite Ew, E0, E1, Y. apply app_nth1. rewrite L2. unfold N. nia.
Qed.
End Big.
