(** Stacks in segments, with bits by level: what stands before the first full layer, and then each full layer with the
    linear ones behind it.  What a segment is told of some tokens is a number, whatever stands before and after
    them.  And small things that routes of their own share (three_hops.v, two_full.v): a set that is made smaller
    until what is said about its members is the same, entries that are asked for, and those that are not. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state many_hops many_hops_stack many_hops_thoughts.

(** ** A stack in segments: what stands before the first full layer, and then each full layer with the linear ones
    behind it. *)
Section Segments.
Context {H : Type}.
Definition segment (k : nat) (ls : list (layer H)) : list (layer H) :=
  match k with 0 => upto 0 ls | S k => skipn (length (upto k ls)) (upto (S k) ls) end.
Lemma segment_is ls k : (upto (S k) ls = upto k ls /\ segment (S k) ls = []) \/
  exists f lins, upto (S k) ls = upto k ls ++ f :: lins /\ segment (S k) ls = f :: lins /\ is_full f = true /\
    forall l, In l lins -> is_full l = false.
Proof.
  unfold segment. destruct (upto_S ls k) as [E|[f [lins [E [F [Hl _]]]]]].
  - left. rewrite E, skipn_all. auto.
  - right. exists f, lins. rewrite E, skipn_app, skipn_all, Nat.sub_diag. auto.
Qed.
Lemma upto_segment ls k : upto (S k) ls = upto k ls ++ segment (S k) ls.
Proof.
  destruct (segment_is ls k) as [[E G]|[f [lins [E [G _]]]]]; rewrite G, E; [symmetry; apply app_nil_r|reflexivity].
Qed.

(** What a segment is told of some tokens rs, as a number: whatever stands before and after them. *)
Definition voice (g : list (layer H)) (n w : nat) (say : H -> list H -> nat) : Prop :=
  (forall h past, say h past < 2 ^ w) /\
  forall left rs rs' rest y, length rs <= n -> length rs' <= n -> (forall h, In h y -> say h rs = say h rs') ->
    same_states g (left ++ rs ++ rest) (left ++ rs' ++ rest) ->
    tail g (left ++ rs ++ rest) y = tail g (left ++ rs' ++ rest) y.
Lemma voice_exists ls k n w : (forall l, In l (segment (S k) ls) -> is_full l = true -> reply_size l n w) ->
  exists say, voice (segment (S k) ls) n w say.
Proof.
  intros Hw. destruct (segment_is ls k) as [[_ E]|[f [lins [_ [E [Ff Hl]]]]]]; rewrite E in *.
  - exists (fun _ _ => 0). split; [intros; pose proof (Nat.pow_nonzero 2 w); lia|]. reflexivity.
  - destruct (reply_code f n w (Hw f (or_introl eq_refl) Ff)) as [say [Hs1 Hs2]]. exists say. split; [exact Hs1|].
    intros left rs rs' rest y Hn Hn' Hy Hst. apply full_tokens; [exact Hl| |exact Hst]. intros h Hh.
    rewrite !told_app. do 2 f_equal. apply Hs2; auto.
Qed.
End Segments.

(** ** Refining a set *)
Lemma refine {X T} (dec : forall a b : T, {a = b} + {a <> b}) (f : X -> T) codes (S : list X) :
  NoDup S -> S <> [] -> (forall x, In x S -> In (f x) codes) ->
  exists S' c, NoDup S' /\ incl S' S /\ S' <> [] /\ length S <= length codes * length S' /\ forall x, In x S' -> f x = c.
Proof.
  intros NS Ne Hf. destruct (popular_in dec f codes S Ne Hf) as [c Hc].
  exists (filter (fun a => if dec (f a) c then true else false) S), c. split; [apply filter_NoDup, NS|].
  split; [intros x Hx; apply filter_In in Hx; tauto|]. split.
  - intros E. rewrite E in Hc. simpl in Hc. destruct S; [congruence|simpl in Hc; lia].
  - split; [exact Hc|]. intros x Hx. apply filter_In in Hx. destruct Hx as [_ Hx]. destruct (dec (f x) c); [assumption|discriminate].
Qed.
Definition nats_dec := list_eq_dec Nat.eq_dec.
(** Entries (w, i) of a table with V values of i, for i in I. *)
Definition at_all (c V : nat) (I : list nat) : list nat := map (fun p => fst p * V + snd p) (list_prod (seq 0 c) I).
Lemma at_all_spec c V I : NoDup I -> (forall v, In v I -> v < V) ->
  length (at_all c V I) = c * length I /\ NoDup (at_all c V I) /\ forall p, In p (at_all c V I) -> p < c * V.
Proof.
  intros NI HI. split; [unfold at_all; rewrite map_length, prod_length, seq_length; reflexivity|]. split.
  - apply map_NoDup_on; [apply NoDup_prod; [apply seq_NoDup|exact NI]|]. intros [w v] [w' v'] G G' E. apply in_prod_iff in G, G'.
    cbn [fst snd] in E. pose proof (HI v (proj2 G)) as B. pose proof (HI v' (proj2 G')) as B'. clear - E B B'.
    assert (w = w') by nia. subst w'. f_equal. lia.
  - intros p Hp. apply in_map_iff in Hp. destruct Hp as [[w v] [<- G]]. apply in_prod_iff in G. destruct G as [Gw Gv].
    apply in_seq in Gw. specialize (HI v Gv). cbn [fst snd]. clear - Gw HI. nia.
Qed.
(** A set of entries of a table of N, and all others. *)
Lemma others_count (wanted : list nat) N : NoDup wanted -> (forall e, In e wanted -> e < N) ->
  length wanted + length (filter (fun e => negb (memb e wanted)) (seq 0 N)) <= N.
Proof.
  intros Nw Hw. rewrite <- (seq_length N 0) at 2. rewrite (filter_split (fun e => memb e wanted) (seq 0 N)).
  apply Nat.add_le_mono_r, NoDup_incl_length; [exact Nw|]. intros e He. apply filter_In.
  split; [apply in_seq; specialize (Hw e He); lia|apply memb_true, He].
Qed.
Lemma app_same {T} (a a' b b' : list T) : length a = length a' -> a ++ b = a' ++ b' -> a = a' /\ b = b'.
Proof.
  revert a'. induction a as [|x a IH]; intros [|x' a'] L E; try discriminate; [auto|].
  simpl in *. injection E as -> E. destruct (IH a' ltac:(lia) E) as [-> ->]. auto.
Qed.
Lemma words_nonempty l V : 0 < V -> nwords l V <> [].
Proof. intros HV E. apply (f_equal (@length _)) in E. rewrite nwords_length in E. simpl in E. pose proof (Nat.pow_nonzero V l). lia. Qed.
Lemma some_of {T} (l : list T) : l <> [] -> exists a, In a l.
Proof. destruct l as [|a l]; [congruence|]. intros _. exists a. left. reflexivity. Qed.
Lemma said_in {H} (h : list H) (f : H -> nat) w : (forall a, f a < 2 ^ w) -> In (map f h) (nwords (length h) (2 ^ w)).
Proof. intros Hf. apply map_in_nwords; auto. Qed.
Lemma said_count c w : length (nwords c (2 ^ w)) = 2 ^ (w * c).
Proof. rewrite nwords_length, Nat.pow_mul_r. reflexivity. Qed.

(** ** Stacks of at most two full layers *)
Definition level_size {H} (ls : list (layer H)) (n b1 b2 s0 s1 s2 : nat) : Prop :=
  (forall l, In l (segment 1 ls) -> is_full l = true -> reply_size l n b1) /\
  (forall l, In l (segment 2 ls) -> is_full l = true -> reply_size l n b2) /\
  state_size (segment 0 ls) n s0 /\ state_size (segment 1 ls) n s1 /\ state_size (segment 2 ls) n s2.
Lemma two_segments {H} (ls : list (layer H)) : phi ls <= 2 -> ls = (upto 0 ls ++ segment 1 ls) ++ segment 2 ls.
Proof. intros HF. rewrite <- !upto_segment. symmetry. apply upto_all, HF. Qed.
(** In particular, s bits for the state of each layer: those of a segment add up. *)
Lemma segment_in {H} (ls : list (layer H)) k l : In l (segment k ls) -> In l ls.
Proof.
  intros Hl. destruct k as [|k]; [destruct (upto_prefix ls 0) as [rest E]|destruct (upto_prefix ls (S k)) as [rest E]]; rewrite E; apply in_app_iff; left.
  - exact Hl.
  - rewrite upto_segment. apply in_app_iff. right. exact Hl.
Qed.
Lemma level_size_layers {H} (ls : list (layer H)) n w s : (forall l, In l ls -> is_full l = true -> reply_size l n w) ->
  (forall l, In l ls -> layer_state_size l n s) ->
  level_size ls n w w (length (segment 0 ls) * s) (length (segment 1 ls) * s) (length (segment 2 ls) * s).
Proof.
  intros Hw Hs. assert (St : forall k, state_size (segment k ls) n (length (segment k ls) * s)).
  { intros k. assert (G : forall l, In l (segment k ls) -> layer_state_size l n s) by (intros l Hl; apply Hs, (segment_in ls k), Hl).
    revert G. induction (segment k ls) as [|l g IH]; intros G; [exact (state_size_sum [] n [] (Forall2_nil _))|].
    replace (length (l :: g) * s) with (list_sum (s :: repeat s (length g))).
    - apply state_size_sum. constructor; [apply G; left; reflexivity|].
      assert (F : forall l, In l g -> layer_state_size l n s) by (intros a Ha; apply G; right; exact Ha). clear -F.
      induction g as [|a g IH]; simpl; constructor; [apply F; left; reflexivity|]. apply IH. intros b Hb. apply F. right. exact Hb.
    - simpl. f_equal. clear. induction (length g) as [|i IH]; simpl; [reflexivity|]. rewrite IH. reflexivity. }
  repeat split; auto; intros l Hl; apply Hw; eapply segment_in, Hl.
Qed.

(** ** Not always right: wrong somewhere *)
Lemma errs_unless {H} tok tok0 tokw read (ls : list (layer H)) m ns :
  ~ (forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
       answer read ls (input tok tok0 tokw z0 ws zs) = chain m z0 ns ws zs) -> errs tok tok0 tokw read ls m ns.
Proof.
  intros Hn. set (dom := list_prod (seq 0 m) (list_prod (parts ns) (tables m ns))).
  destruct (forallb (fun p => answer read ls (input tok tok0 tokw (fst p) (fst (snd p)) (snd (snd p)))
                              =? chain m (fst p) ns (fst (snd p)) (snd (snd p))) dom) eqn:E.
  - exfalso. apply Hn. rewrite forallb_forall in E. intros z0 ws zs Hz Hw Ht. apply Nat.eqb_eq.
    apply (E (z0, (ws, zs))). apply in_prod; [apply in_seq; lia|apply in_prod; assumption].
  - apply forallb_false in E. destruct E as [[z0 [ws zs]] [Hd E]]. simpl in E. apply Nat.eqb_neq in E.
    unfold dom in Hd. rewrite !in_prod_iff, in_seq in Hd. exists z0, ws, zs. repeat split; try tauto.
Qed.
