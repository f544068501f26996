(** Composition of L hops by a stack of L levels: the indistinguishable decomposition for
    every L, over what tokens hold.

    Text: z_L, ..., z_1, z_0, w.  Chain: i_0 = z_0, i_{k+1} = z_{k+1}(w_k, i_k), answer i_L; with V_0 = m
    and V_{k+1} = n_k V_k the table z_{k+1} has V_{k+1} entries below V_{k+1}, and that of (w_k, i_k)
    stands at w_k V_k + i_k.  The task of the papers is n_0 = 1.

    All of w is one token, the last one; so is z_0, and so is each entry of a table.
    A token is identified with the text up to it: [alike k xs xs'] says that the last tokens of two texts
    hold the same after level k.  Levels are bounded in what passes a cut of the text, and in nothing else:
      level 0      a state, and replies to raw tokens (a first layer with softmax heads, whose
                   queries, keys and values are raw), of which only the receiver makes use;
      level k + 1  replies to what tokens hold after level k, and a state.
    many_hops_stack.v shows that stacks of layers are of this form, many_hops_thoughts.v that they still
    are when they think aloud. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state rectangle.

(** ** Beginnings of a text *)
Fixpoint prefixes {X} (y : list X) : list (list X) :=
  match y with [] => [] | x :: y => [x] :: map (cons x) (prefixes y) end.
Lemma prefixes_length {X} (y : list X) : length (prefixes y) = length y.
Proof. induction y as [|x y IH]; simpl; [reflexivity|]. rewrite map_length, IH. reflexivity. Qed.
Lemma in_prefixes {X} (y v : list X) : In v (prefixes y) <-> v <> [] /\ exists t, y = v ++ t.
Proof.
  revert v. induction y as [|x y IH]; intros v; simpl.
  - split; [intros []|]. intros [H [t E]]. destruct v; [congruence|discriminate].
  - split.
    + intros [<-|H]; [split; [discriminate|exists y; reflexivity]|].
      apply in_map_iff in H. destruct H as [u [<- Hu]]. apply IH in Hu. destruct Hu as [_ [t ->]].
      split; [discriminate|]. exists t. reflexivity.
    + intros [H [t E]]. destruct v as [|a v]; [congruence|]. injection E as -> E.
      destruct v as [|b v]; [left; reflexivity|right]. apply in_map. apply IH.
      split; [discriminate|]. exists t. exact E.
Qed.
Lemma prefixes_trans {X} (u v y : list X) : In u (prefixes v) -> In v (prefixes y) -> In u (prefixes y).
Proof.
  rewrite !in_prefixes. intros [H [t ->]] [_ [t' ->]]. split; [exact H|]. exists (t ++ t').
  symmetry. apply app_assoc.
Qed.
Lemma prefixes_self {X} (y : list X) : y <> [] -> In y (prefixes y).
Proof. intros H. apply in_prefixes. split; [exact H|]. exists []. symmetry. apply app_nil_r. Qed.
Lemma prefixes_app {X} (a b v : list X) : In v (prefixes (a ++ b)) ->
  In v (prefixes a) \/ exists u, In u (prefixes b) /\ v = a ++ u.
Proof.
  rewrite in_prefixes. intros [H [t E]]. revert v H E. induction a as [|x a IH]; intros v H E.
  - right. exists v. split; [|reflexivity]. apply in_prefixes. split; [exact H|]. exists t. exact E.
  - destruct v as [|y v]; [congruence|]. injection E as <- E. destruct v as [|y v].
    + left. apply in_prefixes. split; [discriminate|]. exists a. reflexivity.
    + destruct (IH (y :: v)) as [G|[u [G1 G2]]]; [discriminate|exact E| |].
      * left. apply in_prefixes in G. destruct G as [_ [t' ->]]. apply in_prefixes.
        split; [discriminate|]. exists t'. reflexivity.
      * right. exists u. split; [exact G1|]. rewrite G2. reflexivity.
Qed.

(** ** The task *)
(** z_{k+1} ... z_L, when i_k takes V values and the tables have ns parts. *)
Fixpoint tables (V : nat) (ns : list nat) : list (list (list nat)) :=
  match ns with
  | [] => [[]]
  | n :: ns => map (fun p => fst p :: snd p) (list_prod (nwords (n * V) (n * V)) (tables (n * V) ns))
  end.
(** w_k ... w_{L-1} *)
Definition parts (ns : list nat) : list (list nat) := boxes (map (seq 0) ns).
(** i_L from i_k *)
Fixpoint chain (V i : nat) (ns ws : list nat) (zs : list (list nat)) : nat :=
  match ns, ws, zs with
  | n :: ns, w :: ws, z :: zs => chain (n * V) (nth (w * V + i) z 0) ns ws zs
  | _, _, _ => i
  end.
(** How many tokens the tables have. *)
Fixpoint size (V : nat) (ns : list nat) : nat :=
  match ns with [] => 0 | n :: ns => n * V + size (n * V) ns end.

(** The example of src/limen/tasks/composition.py: z_2 = 3 0 2 1 | z_1 = 1 0 | z_0 = 0 | w = 1 -> 1. *)
Example task_example : chain 2 0 [1; 2] [0; 1] [[1; 0]; [3; 0; 2; 1]] = 1 := eq_refl.

Lemma tables_NoDup ns : forall V, NoDup (tables V ns).
Proof.
  induction ns as [|n ns IH]; intros V; simpl; [repeat constructor; auto|].
  apply map_NoDup_on; [apply NoDup_prod; [apply nwords_NoDup|apply IH]|].
  intros [a b] [a' b'] _ _ E. simpl in E. injection E as -> ->. reflexivity.
Qed.
Lemma in_tables V n ns z zs :
  In (z :: zs) (tables V (n :: ns)) <-> In z (nwords (n * V) (n * V)) /\ In zs (tables (n * V) ns).
Proof.
  simpl. rewrite in_map_iff. split.
  - intros [[a b] [E H]]. simpl in E. injection E as -> ->. apply in_prod_iff in H. exact H.
  - intros H. exists (z, zs). split; [reflexivity|]. apply in_prod_iff. exact H.
Qed.
Lemma tables_cons V n ns zs : In zs (tables V (n :: ns)) -> exists z r, zs = z :: r.
Proof. simpl. rewrite in_map_iff. intros [[a b] [<- _]]. exists a, b. reflexivity. Qed.
Lemma in_parts n ns w ws : In (w :: ws) (parts (n :: ns)) <-> w < n /\ In ws (parts ns).
Proof.
  unfold parts. simpl. rewrite in_flat_map. split.
  - intros [a [Ha H]]. apply in_map_iff in H. destruct H as [u [E Hu]]. injection E as -> ->.
    apply in_seq in Ha. split; [lia|exact Hu].
  - intros [Hw H]. exists w. split; [apply in_seq; lia|apply in_map, H].
Qed.

(** ** The numbers
    At stage k the tables z_1 ... z_k have been replaced by few functions each, which reach theta of the
    V values of i_k; u + p tokens of players <= k are in question, and what p of them hold after level k
    does not depend on z_{k+1} ... z_L, as long as these are in a set of which delta bits are lost.
    A plan is, for each stage but the last, x, g and rho: take x functions that bring g new values each, all of
    them together 2^-rho of those that there are. *)
Section Numbers.
Variables beta0 beta sigma : nat.   (* bits of raw replies, of replies, of all states *)
Variables lam lg : nat.             (* upper bound of log2 of all V, lower bound of that of the last *)
Definition lost (k N delta u p x : nat) : nat :=
  delta + 1 + (delta + 2) * x                            (* choosing the functions *)
  + sigma                                                (* states at the new boundary *)
  + (beta0 + beta * (k + 1)) * (x * (N + u))             (* replies to player k + 1, all levels *)
  + beta * p.                                            (* replies to the others, the new level *)
Fixpoint fits (k V delta theta u p : nat) (ns : list nat) (plan : list (nat * nat * nat)) : Prop :=
  match ns with
  | [] => False
  | n :: ns' => let N := n * V in 0 < N /\
    match ns' with
    | [] => 2 ^ lg <= N /\ delta < n * theta * lg
    | _ => match plan with
           | [] => False
           | (x, g, rho) :: plan' => 0 < x /\ 0 < g /\ 2 ^ rho * (g * x) <= N /\ N <= 2 ^ lam /\
               delta + 2 + lam * (g - 1) <= rho * (n * theta) /\
               fits (S k) N (lost k N delta u p x) (g * x) 0 (x * (N + u + p)) ns' plan'
           end
    end
  end.
End Numbers.

(** ** Stacks of levels *)
Section Levels.
Variable X : Type.
Variable alike : nat -> list X -> list X -> Prop.
Hypothesis alike_sym : forall k xs xs', alike k xs xs' -> alike k xs' xs.
Hypothesis alike_trans : forall k xs xs' xs'', alike k xs xs' -> alike k xs' xs'' -> alike k xs xs''.
Variable raw : list X -> X -> nat.                (* level 0: what a text says to a later token *)
Variable reply : nat -> list X -> list X -> nat.  (* level k + 1: to the last token of another text *)
Hypothesis reply_alike : forall k s xs xs', alike k xs xs' -> reply k s xs = reply k s xs'.
Variable state : list X -> nat.                   (* what all levels hand over at the end of a text *)
Variable most : nat.                              (* tokens *)

Hypothesis level_0 : forall s s' y x, length s = length s' -> length s <= most ->
  state s = state s' -> raw s x = raw s' x -> alike 0 (s ++ y ++ [x]) (s' ++ y ++ [x]).
Hypothesis level_S : forall k s s' y, y <> [] -> length s = length s' -> length s <= most ->
  state s = state s' ->
  (forall v, In v (prefixes y) -> alike k (s ++ v) (s' ++ v) /\ reply k s (s ++ v) = reply k s' (s' ++ v)) ->
  alike (S k) (s ++ y) (s' ++ y).

(** beta0, beta bits a reply, sigma bits of state in all. *)
Variables beta0 beta sigma : nat.
Hypothesis raw_bits : forall s x, raw s x < 2 ^ beta0.
Hypothesis reply_bits : forall k s xs, reply k s xs < 2 ^ beta.
Hypothesis state_bits : forall s, state s < 2 ^ sigma.

(** Any embedding of player, place and value. *)
Variable tok : nat -> nat -> nat -> X.
Variables (tok0 : nat -> X) (tokw : list nat -> X).
Definition block (k : nat) (z : list nat) : list X := wrv (tok k) 0 z.
Fixpoint text (k : nat) (zs : list (list nat)) : list X :=
  match zs with [] => [] | z :: zs => text (S k) zs ++ block k z end.
Lemma text_length ns : forall k V zs, In zs (tables V ns) -> length (text k zs) = size V ns.
Proof.
  induction ns as [|n ns IH]; intros k V zs Hz.
  - destruct Hz as [<-|[]]. reflexivity.
  - destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr].
    simpl. rewrite app_length, (IH (S k) (n * V) r Hr). unfold block. rewrite wrv_len.
    apply in_nwords in Hz. lia.
Qed.

Variable last_level : nat.
Variable answer : list X -> nat.
Hypothesis answer_alike : forall xs xs', alike last_level xs xs' -> answer xs = answer xs'.

(** ** The step: what is fixed on the rests *)
Section Fix.
Variables (k V n : nat) (ns : list nat).
Let N := n * V.
(** settled: what they hold after level k is the same for all of R; unsettled: not yet.
    Both together are closed under beginnings, and so are the unsettled ones. *)
Variables (unsettled settled : list (list X)).
Hypothesis unsettled_closed : forall v u, In v unsettled -> In u (prefixes v) -> In u unsettled.
Hypothesis closed : forall v u, In v settled -> In u (prefixes v) -> In u (unsettled ++ settled).
Hypothesis unsettled_nonempty : forall v, In v unsettled -> v <> [].
Hypothesis settled_nonempty : forall v, In v settled -> v <> [].
Variable R : list (list (list nat)).
Hypothesis same : forall zs zs' v, In zs R -> In zs' R -> In v settled ->
  alike k (text k zs ++ v) (text k zs' ++ v).
Variables (Z : list (list nat)) (S : list (list (list nat))).
Hypothesis HZ : incl Z (nwords N N).
Hypothesis HS : incl S (tables N ns).
Hypothesis NS : NoDup S.
Hypothesis HR : forall z r, In z Z -> In r S -> In (z :: r) R.
Hypothesis Hmost : size N ns <= most.
Variable any : list (list nat).    (* one of R *)
Hypothesis Hany : In any R.

(** The tokens of player k + 1 and the unsettled ones, for one z. *)
Definition near (z : list nat) : list (list X) := prefixes (block k z) ++ map (app (block k z)) unsettled.
Definition nears : list (list X) := flat_map near Z.
(** What the rests say: states, replies at all levels to those near, at the new one to the settled. *)
Definition said_raw (r : list (list nat)) : list nat :=
  map (fun y => raw (text (Datatypes.S k) r) (last y (tok0 0))) nears.
Definition said_near (r : list (list nat)) : list nat :=
  map (fun p => reply (fst p) (text (Datatypes.S k) r) (text (Datatypes.S k) r ++ snd p))
      (list_prod (seq 0 (Datatypes.S k)) nears).
Definition said_settled (r : list (list nat)) : list nat :=
  map (fun v => reply k (text (Datatypes.S k) r) (text k any ++ v)) settled.
Definition said r := (state (text (Datatypes.S k) r), (said_raw r, (said_near r, said_settled r))).
Definition sayings := list_prod (seq 0 (2 ^ sigma))
  (list_prod (nwords (length nears) (2 ^ beta0))
  (list_prod (nwords (Datatypes.S k * length nears) (2 ^ beta)) (nwords (length settled) (2 ^ beta)))).

Lemma map_in_nwords {T} (f : T -> nat) (l : list T) W c :
  length l = c -> (forall t, In t l -> f t < W) -> In (map f l) (nwords c W).
Proof.
  intros L Hf. apply in_nwords. rewrite map_length. split; [exact L|].
  apply Forall_forall. intros y Hy. apply in_map_iff in Hy. destruct Hy as [t [<- Ht]]. auto.
Qed.
Lemma said_in r : In (said r) sayings.
Proof.
  unfold said, sayings. apply in_prod; [apply in_seq; pose proof (state_bits (text (Datatypes.S k) r)); lia|].
  repeat apply in_prod; apply map_in_nwords; auto.
  rewrite prod_length, seq_length. reflexivity.
Qed.
Definition fixed_bits :=
  sigma + (beta0 + beta * (k + 1)) * length nears + beta * length settled.
Lemma sayings_count : length sayings = 2 ^ fixed_bits.
Proof.
  unfold sayings, fixed_bits. rewrite !prod_length, seq_length, !nwords_length, <- !Nat.pow_mul_r, <- !Nat.pow_add_r.
  f_equal. lia.
Qed.
Lemma nears_length : length nears = length Z * (N + length unsettled).
Proof.
  unfold nears. apply length_flat_map_const. intros z Hz. apply HZ, in_nwords in Hz.
  unfold near. rewrite app_length, prefixes_length, map_length. unfold block. rewrite wrv_len.
  destruct Hz as [-> _]. reflexivity.
Qed.

Lemma near_closed z y u : In y (near z) -> In u (prefixes y) -> In u (near z).
Proof.
  unfold near. rewrite !in_app_iff. intros [Hy|Hy] Hu; [left; eapply prefixes_trans; eassumption|].
  apply in_map_iff in Hy. destruct Hy as [v [<- Hv]]. apply prefixes_app in Hu.
  destruct Hu as [Hu|[u' [Hu ->]]]; [left; exact Hu|right]. apply in_map. eapply unsettled_closed; eassumption.
Qed.
Lemma near_nonempty z y : In y (near z) -> y <> [].
Proof.
  unfold near. rewrite in_app_iff. intros [Hy|Hy]; [apply in_prefixes in Hy; exact (proj1 Hy)|].
  apply in_map_iff in Hy. destruct Hy as [v [<- Hv]]. apply unsettled_nonempty in Hv.
  destruct (block k z); [exact Hv|discriminate].
Qed.

(** Rests that say the same leave all tokens after them the same, up to the new level. *)
Section Same.
Variables r r' : list (list nat).
Hypothesis Hr : In r S.
Hypothesis Hr' : In r' S.
Hypothesis E : said r = said r'.
Let s := text (Datatypes.S k) r.
Let s' := text (Datatypes.S k) r'.
Lemma s_length : length s = length s'.
Proof. unfold s, s'. rewrite !(text_length ns _ N); auto. Qed.
Lemma s_most : length s <= most.
Proof. unfold s. rewrite (text_length ns _ N); auto. Qed.
Lemma same_state : state s = state s'. Proof. exact (f_equal fst E). Qed.
Lemma same_raw y : In y nears -> raw s (last y (tok0 0)) = raw s' (last y (tok0 0)).
Proof. intros Hy. pose proof (f_equal (fun t => fst (snd t)) E) as G. apply (ext_in_map G). exact Hy. Qed.
Lemma same_near j y : j <= k -> In y nears -> reply j s (s ++ y) = reply j s' (s' ++ y).
Proof.
  intros Hj Hy. pose proof (f_equal (fun t => fst (snd (snd t))) E) as G.
  apply (ext_in_map G (j, y)). apply in_prod; [apply in_seq; lia|exact Hy].
Qed.
Lemma same_settled v : In v settled -> reply k s (text k any ++ v) = reply k s' (text k any ++ v).
Proof. intros Hv. pose proof (f_equal (fun t => snd (snd (snd t))) E) as G. apply (ext_in_map G). exact Hv. Qed.

(** (1) those near *)
Lemma near_same z : In z Z -> forall j, j <= Datatypes.S k -> forall y, In y (near z) -> alike j (s ++ y) (s' ++ y).
Proof.
  intros Hz. assert (Hn : forall y, In y (near z) -> In y nears).
  { intros y Hy. apply in_flat_map. exists z. auto. }
  induction j as [|j IH]; intros Hj y Hy.
  - pose proof (near_nonempty z y Hy) as Ne. pose proof (same_raw y (Hn y Hy)) as Er.
    destruct (exists_last Ne) as [y' [x ->]]. rewrite last_last in Er.
    apply level_0; [apply s_length|apply s_most|apply same_state|exact Er].
  - apply level_S; [apply (near_nonempty z), Hy|apply s_length|apply s_most|apply same_state|].
    intros v Hv. pose proof (near_closed z y v Hy Hv) as Hv'.
    split; [apply IH; [lia|exact Hv']|apply same_near; [lia|apply Hn, Hv']].
Qed.
(** (2) all the others *)
Lemma alike_settled z q v : In z Z -> In q S -> In v settled ->
  alike k (text (Datatypes.S k) q ++ block k z ++ v) (text k any ++ v).
Proof.
  intros Hz Hq Hv. rewrite app_assoc. change (text (Datatypes.S k) q ++ block k z) with (text k (z :: q)).
  apply same; [apply HR; assumption|exact Hany|exact Hv].
Qed.
Lemma settled_same z v : In z Z -> In v settled ->
  alike (Datatypes.S k) (s ++ block k z ++ v) (s' ++ block k z ++ v).
Proof.
  intros Hz Hv. apply level_S; [|apply s_length|apply s_most|apply same_state|].
  { apply settled_nonempty in Hv. destruct (block k z); [exact Hv|discriminate]. }
  intros y Hy.
  assert (C : In y (near z) \/ exists u, In u settled /\ y = block k z ++ u).
  { apply prefixes_app in Hy. unfold near. rewrite in_app_iff.
    destruct Hy as [Hy|[u [Hu ->]]]; [left; left; exact Hy|].
    specialize (closed v u Hv Hu). apply in_app_iff in closed. destruct closed as [G|G].
    - left; right. apply in_map, G.
    - right. exists u. auto. }
  destruct C as [C|[u [Hu ->]]].
  - assert (Hn : In y nears) by (apply in_flat_map; exists z; auto).
    split; [apply (near_same z Hz); [lia|exact C]|apply same_near; [lia|exact Hn]].
  - pose proof (alike_settled z r u Hz Hr Hu) as G. pose proof (alike_settled z r' u Hz Hr' Hu) as G'.
    fold s in G. fold s' in G'. split; [exact (alike_trans _ _ _ _ G (alike_sym _ _ _ G'))|].
    rewrite (reply_alike _ _ _ _ G), (reply_alike _ _ _ _ G'). apply same_settled, Hu.
Qed.
End Same.

(** The tokens after the rests: all settled now. *)
Definition settled' : list (list X) :=
  flat_map (fun z => near z ++ map (app (block k z)) settled) Z.
Lemma settled'_length : length settled' = length Z * (N + length unsettled + length settled).
Proof.
  apply length_flat_map_const. intros z Hz. apply HZ, in_nwords in Hz.
  unfold near. rewrite !app_length, prefixes_length, !map_length. unfold block. rewrite wrv_len.
  destruct Hz as [-> _]. reflexivity.
Qed.
Lemma settled'_closed v u : In v settled' -> In u (prefixes v) -> In u settled'.
Proof.
  intros Hv Hu. apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]]. apply in_flat_map. exists z. split; [exact Hz|].
  apply in_app_iff in Hv. apply in_app_iff. destruct Hv as [Hv|Hv]; [left; eapply near_closed; eassumption|].
  apply in_map_iff in Hv. destruct Hv as [t [<- Ht]]. apply prefixes_app in Hu.
  destruct Hu as [Hu|[u' [Hu ->]]]; [left; apply in_app_iff; auto|].
  specialize (closed t u' Ht Hu). apply in_app_iff in closed. destruct closed as [G|G].
  - left. apply in_app_iff. right. apply in_map, G.
  - right. apply in_map, G.
Qed.
Lemma settled'_nonempty v : In v settled' -> v <> [].
Proof.
  intros Hv. apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]]. apply in_app_iff in Hv.
  destruct Hv as [Hv|Hv]; [apply (near_nonempty z), Hv|].
  apply in_map_iff in Hv. destruct Hv as [t [<- Ht]]. apply settled_nonempty in Ht.
  destruct (block k z); [exact Ht|discriminate].
Qed.

Definition nats_dec := list_eq_dec Nat.eq_dec.
Definition said_dec : forall a b : nat * (list nat * (list nat * list nat)), {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

Lemma fix_rests : S <> [] -> exists S', NoDup S' /\ incl S' S /\ length S <= 2 ^ fixed_bits * length S' /\
  forall q q' v, In q S' -> In q' S' -> In v settled' ->
    alike (Datatypes.S k) (text (Datatypes.S k) q ++ v) (text (Datatypes.S k) q' ++ v).
Proof.
  intros Hne. destruct (popular_in said_dec said sayings S Hne) as [c Hc]; [intros; apply said_in|].
  rewrite sayings_count in Hc.
  exists (filter (fun a => if said_dec (said a) c then true else false) S).
  split; [apply filter_NoDup, NS|]. split; [intros q Hq; apply filter_In in Hq; tauto|]. split; [exact Hc|].
  intros q q' v Hq Hq' Hv. apply filter_In in Hq, Hq'. destruct Hq as [Hq Eq], Hq' as [Hq' Eq'].
  assert (Es : said q = said q').
  { destruct (said_dec (said q) c); [|discriminate]. destruct (said_dec (said q') c); [congruence|discriminate]. }
  apply in_flat_map in Hv. destruct Hv as [z [Hz Hv]]. apply in_app_iff in Hv. destruct Hv as [Hv|Hv].
  - apply (near_same q q' Hq Hq' Es z Hz); [lia|exact Hv].
  - apply in_map_iff in Hv. destruct Hv as [u [<- Hu]]. apply settled_same; assumption.
Qed.
End Fix.

(** ** The end: all members of R have the same entries where they are asked. *)
Lemma last_stage k V n I settled R delta lg :
  0 < n * V -> NoDup I -> (forall v, In v I -> v < V) -> last_level = k ->
  (forall v ws, In v I -> In ws (parts [n]) -> exists u, In u settled /\
     forall zs, In zs (tables V [n]) -> answer (text k zs ++ u) = chain V v [n] ws zs) ->
  NoDup R -> incl R (tables V [n]) -> length (tables V [n]) <= 2 ^ delta * length R ->
  (forall zs zs' v, In zs R -> In zs' R -> In v settled ->
     alike k (text k zs ++ v) (text k zs' ++ v)) ->
  2 ^ lg <= n * V -> n * length I * lg <= delta.
Proof.
  intros HN NI HI Hk Hreach NR HR Hd Hsame Hlg. set (N := n * V) in *.
  pose proof (entries_count n V I NI HI HN) as Ec. pose proof (entries_le n V I HN) as El.
  pose proof (entries_rest n V I HN) as Er.
  set (q := length (entries n V I)) in *. fold N in El, Er.
  set (U := filter (fun p => negb (asked V I p)) (seq 0 N)) in *.
  assert (F : length R <= N ^ (N - q)).
  { rewrite <- Er, <- (nwords_length (length U) N).
    apply (pigeon (fun zs => map (fun p => nth p (hd [] zs) 0) U)); [exact NR| |].
    - intros zs Hz. apply HR in Hz. destruct (tables_cons _ _ _ _ Hz) as [z [r ->]].
      apply in_tables in Hz. destruct Hz as [Hz _]. apply map_in_nwords; [reflexivity|]. intros p Hp.
      apply filter_In in Hp. destruct Hp as [Hp _]. apply in_seq in Hp. apply (nwords_nth N); [exact Hz|lia].
    - intros zs zs' Hz Hz' E. pose proof (HR zs Hz) as Tz. pose proof (HR zs' Hz') as Tz'.
      destruct (tables_cons _ _ _ _ Tz) as [z [r ->]]. destruct (tables_cons _ _ _ _ Tz') as [z' [r' ->]].
      pose proof Tz as Az. pose proof Tz' as Az'. apply in_tables in Az, Az'.
      destruct Az as [Az [<-|[]]], Az' as [Az' [<-|[]]]. f_equal. cbn [hd] in E. fold N in Az, Az'.
      apply (nth_ext_on 0 z z' N); [apply in_nwords in Az; tauto|apply in_nwords in Az'; tauto|].
      intros p Hp. destruct (asked V I p) eqn:Ea.
      + apply memb_true in Ea. pose proof (V_pos n V HN) as PV.
        assert (Hw : p / V < n) by (apply Nat.div_lt_upper_bound; unfold N in Hp; lia).
        destruct (Hreach (p mod V) [p / V] Ea) as [u [Hu Hans]];
          [apply in_parts; split; [exact Hw|left; reflexivity]|].
        pose proof (Hans [z] Tz) as C. pose proof (Hans [z'] Tz') as C'. cbn [chain] in C, C'.
        replace (p / V * V + p mod V) with p in C, C' by (rewrite (Nat.div_mod p V) at 1; lia).
        rewrite <- C, <- C'. apply answer_alike. rewrite Hk. apply Hsame; assumption.
      + apply (ext_in_map E). apply filter_In. split; [apply in_seq; lia|]. rewrite Ea. reflexivity. }
  assert (LA : length (tables V [n]) = N ^ N).
  { cbn [tables]. rewrite map_length, prod_length, nwords_length. fold N. simpl. lia. }
  rewrite LA in Hd. assert (P : 0 < N ^ (N - q)) by (pose proof (Nat.pow_nonzero N (N - q)); lia).
  assert (G : 2 ^ (lg * q) <= 2 ^ delta).
  { rewrite Nat.pow_mul_r. transitivity (N ^ q); [apply Nat.pow_le_mono_l, Hlg|].
    apply (Nat.mul_le_mono_pos_r _ _ (N ^ (N - q))); [exact P|]. rewrite <- Nat.pow_add_r.
    replace (q + (N - q)) with N by lia. etransitivity; [exact Hd|]. apply Nat.mul_le_mono_l, F. }
  apply Nat.pow_le_mono_r_iff in G; [|lia]. nia.
Qed.

Lemma tables_pos ns : forall V, 0 < length (tables V ns).
Proof.
  induction ns as [|n ns IH]; intros V; simpl; [lia|]. rewrite map_length, prod_length, nwords_length.
  specialize (IH (n * V)). apply Nat.mul_pos_pos; [|exact IH].
  destruct (n * V) as [|N]; [simpl; lia|]. pose proof (Nat.pow_nonzero (Datatypes.S N) (Datatypes.S N)). lia.
Qed.

Definition rest_dec := list_eq_dec (list_eq_dec Nat.eq_dec).
(** ** Induction over the stages *)
Theorem decomposition lam lg : forall ns k V delta I unsettled settled R plan,
  fits beta0 beta sigma lam lg k V delta (length I) (length unsettled) (length settled) ns plan ->
  k + length ns = Datatypes.S last_level -> size V ns <= most ->
  NoDup I -> (forall v, In v I -> v < V) ->
  (forall v u, In v unsettled -> In u (prefixes v) -> In u unsettled) ->
  (forall v u, In v settled -> In u (prefixes v) -> In u (unsettled ++ settled)) ->
  (forall v, In v unsettled -> v <> []) -> (forall v, In v settled -> v <> []) ->
  (forall v ws, In v I -> In ws (parts ns) -> exists u, In u settled /\
     forall zs, In zs (tables V ns) -> answer (text k zs ++ u) = chain V v ns ws zs) ->
  NoDup R -> incl R (tables V ns) -> length (tables V ns) <= 2 ^ delta * length R ->
  (forall zs zs' v, In zs R -> In zs' R -> In v settled ->
     alike k (text k zs ++ v) (text k zs' ++ v)) ->
  False.
Proof.
  induction ns as [|n ns IH]; intros k V delta I unsettled settled R plan Hf Hk Hm NI HI Hu Hs Nu Ns Hreach NR HR Hd Hsame;
    [exact Hf|].
  destruct ns as [|n' ns0] eqn:Ens.
  - destruct Hf as [HN [Hlg Hlt]]. cbn [length] in Hk.
    pose proof (last_stage k V n I settled R delta lg HN NI HI ltac:(lia) Hreach NR HR Hd Hsame Hlg). lia.
  - rewrite <- Ens in *. destruct plan as [|[[x g] rho] plan]; [subst ns; destruct Hf as [_ []]|].
    assert (Hf' : 0 < n * V /\ 0 < x /\ 0 < g /\ 2 ^ rho * (g * x) <= n * V /\ n * V <= 2 ^ lam /\
      delta + 2 + lam * (g - 1) <= rho * (n * length I) /\
      fits beta0 beta sigma lam lg (Datatypes.S k) (n * V)
        (lost beta0 beta sigma k (n * V) delta (length unsettled) (length settled) x)
        (g * x) 0 (x * (n * V + length unsettled + length settled)) ns plan)
      by (subst ns; exact Hf).
    clear Hf Ens ns0 n'. destruct Hf' as [HN [Hx [Hg [Hsp [Hlam [Hcov Hf]]]]]].
    set (N := n * V) in *. cbn [size] in Hm. fold N in Hm.
    set (Rel := fun z r => if in_dec rest_dec (z :: r) R then true else false).
    assert (Hdense : length (nwords N N) * length (tables N ns)
       <= 2 ^ delta * lsum (fun r => length (filter (fun z => Rel z r) (nwords N N))) (tables N ns)).
    { assert (LT : length (tables V (n :: ns)) = length (nwords N N) * length (tables N ns))
        by (cbn [tables]; rewrite map_length, prod_length; reflexivity).
      rewrite <- LT. etransitivity; [exact Hd|]. apply Nat.mul_le_mono_l.
      transitivity (length (flat_map (fun r => map (fun z => z :: r) (filter (fun z => Rel z r) (nwords N N))) (tables N ns))).
      - apply NoDup_incl_length; [exact NR|]. intros zs Hz. pose proof (HR zs Hz) as Tz.
        destruct (tables_cons _ _ _ _ Tz) as [z [r ->]]. apply in_tables in Tz. destruct Tz as [Tz Tr].
        apply in_flat_map. exists r. split; [exact Tr|]. apply in_map_iff. exists z. split; [reflexivity|].
        apply filter_In. split; [exact Tz|]. unfold Rel. destruct (in_dec rest_dec (z :: r) R);
          [reflexivity|contradiction].
      - rewrite length_flat_map. apply Nat.eq_le_incl. unfold lsum. f_equal. apply map_ext. intros r.
        apply map_length. }
    destruct (rectangle n V I NI HI HN x g rho Hg Hsp delta lam Hlam Hcov (tables N ns) (tables_NoDup ns N) Rel
                (tables_pos ns N) Hdense)
      as [Z [J [S [LZ [LJ [NJ [HZ [HJ [NS [IS [LS HRel]]]]]]]]]]].
    fold N in HZ. assert (HRel' : forall z r, In z Z -> In r S -> In (z :: r) R).
    { intros z r Hz Hr. specialize (HRel z r Hz Hr). unfold Rel in HRel.
      destruct (in_dec rest_dec (z :: r) R); [assumption|discriminate]. }
    assert (PS : 0 < length S) by (pose proof (tables_pos ns N); destruct (length S); lia).
    destruct Z as [|z0 Z0] eqn:EZ; [simpl in LZ; lia|]. rewrite <- EZ in *.
    assert (Hz0 : In z0 Z) by (rewrite EZ; left; reflexivity). clear EZ Z0.
    destruct S as [|r0 S0] eqn:ES; [simpl in PS; lia|]. rewrite <- ES in *.
    assert (Hr0 : In r0 S) by (rewrite ES; left; reflexivity). assert (Sne : S <> []) by (rewrite ES; discriminate).
    clear ES S0.
    destruct (fix_rests k V n ns unsettled settled Hu Hs Nu Ns R Hsame Z S IS NS HRel' ltac:(fold N; lia)
                (z0 :: r0) (HRel' z0 r0 Hz0 Hr0) Sne) as [S' [NS' [IS' [LS' Hsame']]]].
    apply (IH (Datatypes.S k) N (lost beta0 beta sigma k N delta (length unsettled) (length settled) x)
             J [] (settled' k unsettled settled Z) S' plan).
    + rewrite LJ, (settled'_length k V n unsettled settled Z HZ), LZ. exact Hf.
    + cbn [length] in Hk. lia.
    + lia.
    + exact NJ.
    + intros v Hv. destruct (HJ v Hv) as [z [p [Hz [Hp <-]]]]. apply filter_In in Hp. destruct Hp as [Hp _].
      apply in_seq in Hp. apply (nwords_nth N); [apply HZ, Hz|unfold N; lia].
    + intros v u [].
    + intros v u Hv Hpu. exact (settled'_closed k unsettled settled Hu Hs Z v u Hv Hpu).
    + intros v [].
    + exact (settled'_nonempty k unsettled settled Nu Ns Z).
    + intros v ws Hv Hws. destruct (HJ v Hv) as [z [p [Hz [Hp Ev]]]]. apply filter_In in Hp. destruct Hp as [Hp Ha].
      apply in_seq in Hp. apply memb_true in Ha. pose proof (V_pos n V HN) as PV.
      destruct (Hreach (p mod V) (p / V :: ws) Ha) as [u [Hu' Hans]].
      { apply in_parts. split; [|exact Hws]. apply Nat.div_lt_upper_bound; lia. }
      exists (block k z ++ u). split.
      * apply in_flat_map. exists z. split; [exact Hz|]. apply in_app_iff. right. apply in_map, Hu'.
      * intros zs Hzs. specialize (Hans (z :: zs)). cbn [text chain] in Hans. rewrite <- app_assoc in Hans.
        rewrite Hans by (apply in_tables; split; [apply HZ, Hz|exact Hzs]).
        replace (p / V * V + p mod V) with p by (rewrite (Nat.div_mod p V) at 1; lia). rewrite Ev. reflexivity.
    + exact NS'.
    + intros q Hq. apply IS, IS', Hq.
    + etransitivity; [exact LS|]. etransitivity; [apply Nat.mul_le_mono_l, LS'|].
      rewrite Nat.mul_assoc, <- Nat.pow_add_r. apply Nat.mul_le_mono_r, Nat.pow_le_mono_r; [lia|].
      unfold fixed_bits, lost. rewrite (nears_length k V n unsettled Z HZ), LZ. fold N.
      apply Nat.eq_le_incl. ring.
    + exact Hsame'.
Qed.

(** ** The theorem *)
Definition solves (m : nat) (ns : list nat) : Prop :=
  forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
    answer (text 0 zs ++ [tok0 z0; tokw ws]) = chain m z0 ns ws zs.

Definition start_dec : forall a b : nat * list nat, {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Theorem many_hops m ns x0 plan lam lg :
  length ns = Datatypes.S last_level -> size m ns <= most -> x0 <= m ->
  fits beta0 beta sigma lam lg 0 m (sigma + beta0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  ~ solves m ns.
Proof.
  intros HL Hm Hx Hf Hsolves. set (A := length (parts ns)) in *.
  set (f := fun zs => (state (text 0 zs), map (fun ws => raw (text 0 zs) (tokw ws)) (parts ns))).
  assert (Tne : tables m ns <> []).
  { intros E. pose proof (tables_pos ns m) as P. rewrite E in P. simpl in P. lia. }
  destruct (popular_in start_dec f (list_prod (seq 0 (2 ^ sigma)) (nwords A (2 ^ beta0))) (tables m ns) Tne) as [c Hc].
  { intros zs _. apply in_prod; [apply in_seq; pose proof (state_bits (text 0 zs)); lia|].
    apply map_in_nwords; auto. }
  rewrite prod_length, seq_length, nwords_length, <- Nat.pow_mul_r, <- Nat.pow_add_r in Hc.
  set (R := filter (fun a => if start_dec (f a) c then true else false) (tables m ns)) in *.
  set (unsettled := map (fun z => [tok0 z]) (seq 0 x0)).
  set (settled := map (fun p => [tok0 (fst p); tokw (snd p)]) (list_prod (seq 0 x0) (parts ns))).
  assert (Lu : length unsettled = x0) by (unfold unsettled; rewrite map_length; apply seq_length).
  assert (Ls : length settled = x0 * A) by (unfold settled; rewrite map_length, prod_length, seq_length; reflexivity).
  apply (decomposition lam lg ns 0 m (sigma + beta0 * A) (seq 0 x0) unsettled settled R plan).
  - rewrite seq_length, Lu, Ls. exact Hf.
  - simpl. exact HL.
  - exact Hm.
  - apply seq_NoDup.
  - intros v Hv. apply in_seq in Hv. lia.
  - intros v u Hv Hu. apply in_map_iff in Hv. destruct Hv as [z [<- Hz]]. destruct Hu as [<-|[]].
    apply in_map_iff. exists z. auto.
  - intros v u Hv Hu. apply in_map_iff in Hv. destruct Hv as [[z ws] [<- Hz]]. pose proof Hz as Hz'.
    apply in_prod_iff in Hz. apply in_app_iff. destruct Hu as [<-|[<-|[]]].
    + left. apply in_map_iff. exists z. tauto.
    + right. apply in_map_iff. exists (z, ws). auto.
  - intros v Hv. apply in_map_iff in Hv. destruct Hv as [z [<- _]]. discriminate.
  - intros v Hv. apply in_map_iff in Hv. destruct Hv as [z [<- _]]. discriminate.
  - intros v ws Hv Hws. exists [tok0 v; tokw ws]. split.
    + apply in_map_iff. exists (v, ws). split; [reflexivity|]. apply in_prod; assumption.
    + intros zs Hz. apply in_seq in Hv. apply Hsolves; [lia|exact Hws|exact Hz].
  - apply filter_NoDup, tables_NoDup.
  - intros zs Hz. apply filter_In in Hz. tauto.
  - exact Hc.
  - intros zs zs' v Hz Hz' Hv. apply filter_In in Hz, Hz'. destruct Hz as [Tz Ez], Hz' as [Tz' Ez'].
    assert (E : f zs = f zs').
    { destruct (start_dec (f zs) c); [|discriminate]. destruct (start_dec (f zs') c); [congruence|discriminate]. }
    unfold f in E. injection E as E0 E1.
    apply in_map_iff in Hv. destruct Hv as [[z ws] [<- Hp]]. apply in_prod_iff in Hp. destruct Hp as [_ Hw].
    simpl in Hw.
    change [tok0 (fst (z, ws)); tokw (snd (z, ws))] with ([tok0 z] ++ [tokw ws]).
    apply level_0; [|rewrite (text_length ns 0 m zs Tz); exact Hm|exact E0|apply (ext_in_map E1), Hw].
    rewrite (text_length ns 0 m zs Tz), (text_length ns 0 m zs' Tz'). reflexivity.
Qed.

(** Witness form: some input is answered wrongly. *)
Theorem many_hops_errs m ns x0 plan lam lg :
  length ns = Datatypes.S last_level -> size m ns <= most -> x0 <= m ->
  fits beta0 beta sigma lam lg 0 m (sigma + beta0 * length (parts ns)) x0 x0 (x0 * length (parts ns)) ns plan ->
  exists z0 ws zs, z0 < m /\ In ws (parts ns) /\ In zs (tables m ns) /\
    answer (text 0 zs ++ [tok0 z0; tokw ws]) <> chain m z0 ns ws zs.
Proof.
  intros HL Hm Hx Hf. pose proof (many_hops m ns x0 plan lam lg HL Hm Hx Hf) as Hn.
  set (dom := list_prod (seq 0 m) (list_prod (parts ns) (tables m ns))).
  destruct (forallb (fun p => answer (text 0 (snd (snd p)) ++ [tok0 (fst p); tokw (fst (snd p))])
                              =? chain m (fst p) ns (fst (snd p)) (snd (snd p))) dom) eqn:E.
  - exfalso. apply Hn. rewrite forallb_forall in E. intros z0 ws zs Hz Hw Ht. apply Nat.eqb_eq.
    apply (E (z0, (ws, zs))). apply in_prod; [apply in_seq; lia|apply in_prod; assumption].
  - apply forallb_false in E. destruct E as [[z0 [ws zs]] [Hd E]]. simpl in E. apply Nat.eqb_neq in E.
    unfold dom in Hd. rewrite !in_prod_iff, in_seq in Hd. exists z0, ws, zs.
    repeat split; try tauto.
Qed.
End Levels.
