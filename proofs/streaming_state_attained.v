(** The hypotheses of streaming_state can be met and the Eva bound is attained with equality. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state.

(** Token: inl v = a value, inr x = the query.  Memory: the values read so far. *)
Definition sstep (q : list nat) (t : nat + nat) : list nat * nat :=
  match t with inl v => (q ++ [v], 0) | inr x => (q, nth x q 0) end.
Definition sval (i v : nat) : nat + nat := inl v.
Definition sqry (x : nat) : list (nat + nat) := [inr x].

Lemma smem f : forall q y i, feed sstep (q, y) (wrv sval i f) = (q ++ f, match f with [] => y | _ => 0 end).
Proof.
  induction f as [|v f IH]; intros q y i; simpl; [rewrite app_nil_r; reflexivity|].
  unfold feed in *. simpl. rewrite IH, <- app_assoc. simpl. destruct f; reflexivity.
Qed.

Theorem eva_tight n V :
  eva_correct ([], 0) sstep (fun _ _ => inl 0) (fun _ c => Some (snd c)) sval sqry n V /\
  (forall f, In f (nwords n V) -> In (mem ([], 0) sstep (wrv sval 0 f)) (nwords n V)) /\
  length (nwords n V) = V ^ n.
Proof.
  assert (E : forall f, mem ([], 0) sstep (wrv sval 0 f) = f).
  { intros f. unfold mem, run. rewrite smem. reflexivity. }
  split; [|split].
  - intros f x L F X. constructor. unfold eva_input, sqry. rewrite run_app, E. reflexivity.
  - intros f Hf. rewrite E. assumption.
  - apply nwords_length.
Qed.
