(** The bound is attained, for every L: a linear layer and L full layers of one head solve composition of
    L hops, with replies and states of log2 N bits (many_hops_can.v, for all shapes, has three times as many).
    So the hypotheses of many_hops_stack.v are not empty, and one more level is enough.  And linear layers of
    few bits EACH do not obey them: [pile]. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting streaming_state rectangle many_hops many_hops_stack many_hops_sizes.
From Limen Require each_w_stack depth_rule.
Import each_w_stack(monoid, carrier, add, zero, add_assoc, add_zero, total, total_app).

(** What tokens hold: an entry of a table; z_0; w and what is known of the chain. *)
Inductive thing := Entry (k p v : nat) | Start (z : nat) | Word (ws : list nat) (i : option nat).
Definition first (a b : option nat) : option nat := match a with Some _ => a | None => b end.
Definition firsts : monoid.
Proof.
  refine {| carrier := option nat; add := first; zero := None |}.
  - intros [a|] [b|] [c|]; reflexivity.
  - reflexivity.
Defined.
Definition optnat_dec : forall a b : option nat, {a = b} + {a <> b}.
Proof. decide equality. apply Nat.eq_dec. Defined.

Section Attained.
Variable top : nat.      (* values are below *)
Definition no_memory : recurrent thing :=
  {| St := unit; St_dec := fun a b => match a, b with tt, tt => left eq_refl end; O := unit; st0 := tt;
     step := fun _ _ => (tt, tt) |}.
(** Entry p of table k. *)
Definition entry (k : nat) (q : option nat) (h : thing) : option nat :=
  match q, h with
  | Some p, Entry k' p' v => if (k' =? k) && (p' =? p) && (v <? top) then Some v else None
  | _, _ => None
  end.
Definition look (k V : nat) : attention thing :=
  {| Q := option nat; C := firsts; C_dec := optnat_dec;
     query := fun h => match h with Word ws (Some i) => Some (nth k ws 0 * V + i) | _ => None end;
     contrib := entry k |}.
Definition hop (k V : nat) : layer thing :=
  Full (look k V) no_memory (fun h c _ => match h with Word ws (Some _) => Word ws c | _ => h end).
(** The linear layer hands z_0 to w. *)
Definition carry : layer thing :=
  Linear {| St := option nat; St_dec := optnat_dec; O := option nat; st0 := None;
            step := fun q h => match h with
                               | Start z => if z <? top then (Some z, Some z) else (q, q)
                               | _ => (q, q) end |}
         (fun h o => match h with Word ws None => Word ws o | _ => h end).
Fixpoint hops (k V : nat) (ns : list nat) : list (layer thing) :=
  match ns with [] => [] | n :: ns => hop k V :: hops (S k) (n * V) ns end.
Definition chaser (m : nat) (ns : list nat) : list (layer thing) := carry :: hops 0 m ns.
Definition said (h : thing) : nat := match h with Word _ (Some i) => i | _ => 0 end.

Definition lookup (k p : nat) (xs : list thing) : option nat := @total firsts thing (entry k (Some p)) xs.
Lemma lookup_app k p a b : lookup k p (a ++ b) = first (lookup k p a) (lookup k p b).
Proof. apply (@total_app firsts). Qed.

(** Tokens of tables, and z_0, stay what they are. *)
Definition still (h : thing) : Prop := match h with Word _ _ => False | _ => True end.
Lemma hop_still k V xs : Forall still xs -> forall past, go (hop k V) tt past xs = xs.
Proof.
  induction 1 as [|h xs Hh Hxs IH]; intros past; [reflexivity|]. simpl. rewrite IH.
  destruct h; [reflexivity|reflexivity|destruct Hh].
Qed.
Lemma hop_run k V xs ws i : Forall still xs ->
  run_layer (hop k V) (xs ++ [Word ws (Some i)])
  = xs ++ [Word ws (lookup k (nth k ws 0 * V + i) xs)].
Proof.
  intros Hx. unfold run_layer. rewrite go_app. change (st0 (memory (hop k V))) with tt.
  rewrite hop_still by exact Hx. f_equal. cbn [go step memory hop no_memory joined]. f_equal. f_equal.
  change (told (hop k V) (Word ws (Some i)) (([] ++ xs) ++ [Word ws (Some i)]))
    with (lookup k (nth k ws 0 * V + i) (xs ++ [Word ws (Some i)])).
  rewrite lookup_app. destruct (lookup _ _ xs); reflexivity.
Qed.
Lemma carry_still xs : Forall still xs -> forall q past, go carry q past xs = xs.
Proof.
  induction 1 as [|h xs Hh Hxs IH]; intros q past; [reflexivity|]. simpl.
  destruct h as [k p v|z|]; [|destruct (z <? top)|destruct Hh]; rewrite IH; reflexivity.
Qed.
Lemma carry_run xs z ws : Forall still xs -> z < top ->
  run_layer carry (xs ++ [Start z; Word ws None]) = (xs ++ [Start z]) ++ [Word ws (Some z)].
Proof.
  intros Hx Hz. unfold run_layer. change [Start z; Word ws None] with ([Start z] ++ [Word ws None]).
  rewrite app_assoc, go_app. rewrite carry_still by (apply Forall_app; split; [exact Hx|repeat constructor]).
  f_equal. apply Nat.ltb_lt in Hz.
  assert (A : forall q, after carry q (xs ++ [Start z]) = Some z).
  { induction xs as [|h xs IH]; intros q; simpl; [rewrite Hz; reflexivity|]. inversion Hx; subst. apply IH; assumption. }
  rewrite A. reflexivity.
Qed.

(** A look-up finds the entry. *)
Lemma entry_block k k' p z : forall i, lookup k p (wrv (Entry k') i z)
  = if (k' =? k) && (i <=? p) && (p <? i + length z) && (nth (p - i) z 0 <? top) then Some (nth (p - i) z 0) else None.
Proof.
  induction z as [|v z IH]; intros i.
  - simpl. replace (p <? i + 0) with (p <? i) by (f_equal; lia).
    destruct (k' =? k), (i <=? p) eqn:E1, (p <? i) eqn:E2; simpl; try reflexivity.
    apply Nat.leb_le in E1. apply Nat.ltb_lt in E2. lia.
  - change (lookup k p (wrv (Entry k') i (v :: z)))
      with (first (entry k (Some p) (Entry k' i v)) (lookup k p (wrv (Entry k') (S i) z))).
    rewrite IH. unfold entry. cbn [length]. destruct (k' =? k); cbn [andb first]; [|reflexivity].
    destruct (lt_eq_lt_dec p i) as [[Hp|Hp]|Hp].
    + replace (i =? p) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (i <=? p) with false by (symmetry; apply Nat.leb_gt; lia).
      replace (S i <=? p) with false by (symmetry; apply Nat.leb_gt; lia). reflexivity.
    + subst p. rewrite Nat.eqb_refl, Nat.leb_refl, Nat.sub_diag.
      replace (S i <=? i) with false by (symmetry; apply Nat.leb_gt; lia).
      replace (i <? i + S (length z)) with true by (symmetry; apply Nat.ltb_lt; lia).
      cbn [andb first nth]. destruct (v <? top); reflexivity.
    + replace (i =? p) with false by (symmetry; apply Nat.eqb_neq; lia).
      replace (i <=? p) with true by (symmetry; apply Nat.leb_le; lia).
      replace (S i <=? p) with true by (symmetry; apply Nat.leb_le; lia). cbn [andb first].
      replace (p - i) with (S (p - S i)) by lia. cbn [nth].
      replace (i + S (length z)) with (S i + length z) by lia. reflexivity.
Qed.

Lemma lookup_above zs : forall k t p, t < k -> lookup t p (text thing Entry k zs) = None.
Proof.
  induction zs as [|z zs IH]; intros k t p Ht; [reflexivity|]. simpl. rewrite lookup_app, IH by lia.
  unfold block. rewrite entry_block. replace (k =? t) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity.
Qed.
Lemma lookup_text ns : forall k V zs t p, Forall (lt 0) ns -> In zs (tables V ns) -> V * prod ns <= top ->
  t < length ns -> p < length (nth t zs []) -> lookup (k + t) p (text thing Entry k zs) = Some (nth p (nth t zs []) 0).
Proof.
  induction ns as [|n ns IH]; intros k V zs t p Fn Hz Htop Ht Hp; [simpl in Ht; lia|].
  destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. apply in_tables in Hz. destruct Hz as [Hz Hr].
  inversion Fn as [|? ? Pn Fn']; subst. simpl text. rewrite lookup_app. destruct t as [|t].
  - rewrite Nat.add_0_r, lookup_above by lia. simpl first. unfold block. rewrite entry_block, Nat.eqb_refl, Nat.sub_0_r.
    simpl nth in *. replace (p <? 0 + length z) with true by (symmetry; apply Nat.ltb_lt; exact Hp).
    assert (Hv : nth p z 0 < n * V).
    { apply (nwords_nth (n * V)); [exact Hz|]. apply in_nwords in Hz. lia. }
    assert (G : n * V <= top).
    { etransitivity; [|exact Htop]. simpl prod. rewrite Nat.mul_comm, Nat.mul_assoc. apply le_mul_r; [lia|].
      apply prod_pos in Fn'. lia. }
    replace (nth p z 0 <? top) with true by (symmetry; apply Nat.ltb_lt; lia). reflexivity.
  - simpl nth in *. replace (k + S t) with (S k + t) by lia.
    assert (Htop' : n * V * prod ns <= top) by (etransitivity; [|exact Htop]; simpl; apply Nat.eq_le_incl; ring).
    rewrite (IH (S k) (n * V) r t p Fn' Hr Htop' ltac:(simpl in Ht; lia) Hp). reflexivity.
Qed.

(** One layer a hop. *)
Lemma hops_run (xs : list thing) (all : list nat) : Forall still xs -> forall ns k V i ws zs,
  (forall t, t < length ns -> nth (k + t) all 0 = nth t ws 0) -> In ws (parts ns) -> In zs (tables V ns) -> i < V ->
  (forall t p, t < length ns -> p < length (nth t zs []) -> lookup (k + t) p xs = Some (nth p (nth t zs []) 0)) ->
  run (hops k V ns) (xs ++ [Word all (Some i)]) = xs ++ [Word all (Some (chain V i ns ws zs))].
Proof.
  intros Hx. induction ns as [|n ns IH]; intros k V i ws zs Ha Hw Hz Hi Hl.
  - reflexivity.
  - destruct (tables_cons _ _ _ _ Hz) as [z [r ->]]. pose proof Hz as Hz'. apply in_tables in Hz. destruct Hz as [Hz Hr].
    destruct ws as [|w ws].
    { exfalso. unfold parts in Hw. simpl in Hw. apply in_flat_map in Hw. destruct Hw as [a [_ Hw]].
      apply in_map_iff in Hw. destruct Hw as [b [E _]]. discriminate. }
    apply in_parts in Hw. destruct Hw as [Hw Hws].
    assert (Lz : length z = n * V) by (apply in_nwords in Hz; tauto).
    pose proof (Ha 0 ltac:(simpl; lia)) as Ha0. rewrite Nat.add_0_r in Ha0. simpl in Ha0.
    assert (Hp : w * V + i < n * V) by nia.
    simpl hops. rewrite run_cons, hop_run by exact Hx. rewrite Ha0.
    pose proof (Hl 0 (w * V + i) ltac:(simpl; lia)) as Hl0. rewrite Nat.add_0_r in Hl0. simpl in Hl0.
    rewrite Hl0 by (rewrite Lz; exact Hp). simpl chain. apply IH; auto.
    + intros t Ht. specialize (Ha (S t) ltac:(simpl; lia)). replace (S k + t) with (k + S t) by lia. exact Ha.
    + apply (nwords_nth (n * V)); assumption.
    + intros t p Ht Hp'. specialize (Hl (S t) p ltac:(simpl; lia) Hp'). replace (S k + t) with (k + S t) by lia. exact Hl.
Qed.
Lemma text_still zs : forall k, Forall still (text thing Entry k zs).
Proof.
  induction zs as [|z zs IH]; intros k; [constructor|]. simpl. apply Forall_app. split; [apply IH|].
  unfold block. generalize 0. induction z as [|v z IHz]; intros i; constructor; [exact I|apply IHz].
Qed.

Definition word (ws : list nat) : thing := Word ws None.
Theorem chaser_solves m ns : Forall (lt 0) ns -> m * prod ns <= top ->
  forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
    answer said (chaser m ns) (input Entry Start word z0 ws zs) = chain m z0 ns ws zs.
Proof.
  intros Fn Htop z0 ws zs Hz0 Hws Hzs. unfold answer, chaser, input, word. rewrite run_cons.
  assert (Pn : 0 < prod ns) by (apply prod_pos, Fn).
  assert (Hm : z0 < top) by nia.
  rewrite carry_run by (auto using text_still).
  rewrite (hops_run (text thing Entry 0 zs ++ [Start z0]) ws) with (ws := ws) (zs := zs); auto.
  - rewrite map_app. simpl. apply last_last.
  - apply Forall_app. split; [apply text_still|repeat constructor].
  - intros t p Ht Hp. rewrite lookup_app, (lookup_text ns 0 m zs t p) by assumption. reflexivity.
Qed.

(** Its bits. *)
Definition bits : nat := Nat.log2_up (S top).
Definition all_values : list (option nat) := None :: map Some (seq 0 top).
Lemma all_values_length : length all_values <= 2 ^ bits.
Proof.
  unfold all_values, bits. simpl. rewrite map_length, seq_length. destruct top as [|t]; [simpl; lia|].
  apply Nat.log2_up_spec. lia.
Qed.
Lemma in_all_values o : match o with Some v => v < top | None => True end -> In o all_values.
Proof. destruct o as [v|]; intros H; [right; apply in_map, in_seq; lia|left; reflexivity]. Qed.
Lemma lookup_small k q xs : match @total firsts thing (entry k q) xs with Some v => v < top | None => True end.
Proof.
  induction xs as [|h xs IH]; [exact I|].
  change (@total firsts thing (entry k q) (h :: xs)) with (first (entry k q h) (@total firsts thing (entry k q) xs)).
  destruct (entry k q h) as [v|] eqn:E; [|exact IH]. simpl. unfold entry in E.
  destruct q as [p|]; [|discriminate]. destruct h as [k' p' v'| |]; try discriminate.
  destruct ((k' =? k) && (p' =? p)); simpl in E; [|discriminate]. destruct (v' <? top) eqn:E'; [|discriminate].
  injection E as <-. apply Nat.ltb_lt, E'.
Qed.
Lemma carry_small xs : forall q, match q with Some v => v < top | None => True end ->
  match after carry q xs with Some v => v < top | None => True end.
Proof.
  induction xs as [|h xs IH]; intros q Hq; simpl; [exact Hq|]. apply IH.
  destruct h as [| z |]; try exact Hq. destruct (z <? top) eqn:E; [apply Nat.ltb_lt, E|exact Hq].
Qed.
Lemma hops_is k V ns l : In l (hops k V ns) -> exists k' V', l = hop k' V'.
Proof.
  revert k V. induction ns as [|n ns IH]; intros k V; simpl; [tauto|]. intros [<-|H]; [eauto|]. eapply IH, H.
Qed.
Theorem chaser_size m ns n : stack_size (chaser m ns) n bits bits.
Proof.
  split.
  - intros l [<-|Hl] Hf; [discriminate|]. apply hops_is in Hl. destruct Hl as [k [V ->]].
    exists all_values. split; [apply all_values_length|]. intros h past _. apply in_all_values.
    apply (lookup_small k (query (look k V) h) past).
  - replace bits with (list_sum (bits :: repeat 0 (length ns))).
    2: { simpl. induction (length ns); simpl; lia. }
    apply state_size_sum. constructor.
    + intros t _. exists all_values. split; [apply all_values_length|]. intros xs _. apply in_all_values.
      apply (carry_small xs None I).
    + generalize 0 at 1. generalize m. induction ns as [|n' ns IH]; intros V k; simpl; constructor.
      * intros t _. exists [tt]. split; [simpl; lia|]. intros xs _. left. destruct (after _ _ xs). reflexivity.
      * apply IH.
Qed.
Lemma chaser_full m ns : phi (chaser m ns) = length ns.
Proof.
  unfold phi, chaser. simpl. generalize 0 at 1. generalize m. induction ns as [|n ns IH]; intros V k; [reflexivity|].
  simpl. f_equal. apply IH.
Qed.
Lemma chaser_kappa m ns : kappa (chaser m ns) = length ns.
Proof.
  enough (E : depth_rule.reach (map kind (chaser m ns)) = S (length ns)) by (unfold kappa, depth_rule.kappa; lia).
  unfold chaser, depth_rule.reach. simpl map. unfold kind at 1 3. simpl is_full. cbv iota.
  unfold depth_rule.phi. simpl. rewrite Nat.add_1_r. f_equal.
  generalize 0 at 1. generalize m. induction ns as [|n ns IH]; intros V k; [reflexivity|]. simpl. f_equal. apply IH.
Qed.
End Attained.

(** One level more than many_hops_stack.v excludes is enough, with logarithmically many bits. *)
Theorem depth_is_enough m ns : Forall (lt 0) ns ->
  exists (H : Type) tok tok0 tokw read (ls : list (layer H)),
    kappa ls = length ns /\ phi ls = length ns /\
    (forall n, stack_size ls n (Nat.log2_up (S (m * prod ns))) (Nat.log2_up (S (m * prod ns)))) /\
    forall z0 ws zs, z0 < m -> In ws (parts ns) -> In zs (tables m ns) ->
      answer read ls (input tok tok0 tokw z0 ws zs) = chain m z0 ns ws zs.
Proof.
  intros Fn. exists thing, Entry, Start, word, said, (chaser (m * prod ns) m ns).
  split; [apply chaser_kappa|]. split; [apply chaser_full|].
  split; [intros n; apply chaser_size|]. apply chaser_solves; auto.
Qed.

(** ** Few bits for each layer are not few bits
    One hop, four entries of two bits: no full layer, and no state of seven bits is enough ([one_hop_needs] in
    many_hops_check.v).  But five linear layers of three bits each are: the first brings z_0 to w, and each
    of the others keeps one entry. *)
Definition keep (j : nat) : layer thing :=
  Linear {| St := option nat; St_dec := optnat_dec; O := option nat; st0 := None;
            step := fun q h => match h with
                               | Entry _ p v => if (p =? j) && (v <? 4) then (Some v, Some v) else (q, q)
                               | _ => (q, q) end |}
         (fun h o => match h with Word [0] (Some i) => if i =? j then Word [0; 1] o else h | _ => h end).
Definition pile : list (layer thing) := carry 4 :: map keep [0; 1; 2; 3].
Lemma keep_small j xs : forall q, match q with Some v => v < 4 | None => True end ->
  match after (keep j) q xs with Some v => v < 4 | None => True end.
Proof.
  induction xs as [|h xs IH]; intros q Hq; simpl; [exact Hq|]. apply IH. destruct h as [k p v| |]; try exact Hq.
  destruct (p =? j); simpl; [|exact Hq]. destruct (v <? 4) eqn:E; [apply Nat.ltb_lt, E|exact Hq].
Qed.
Theorem few_bits_each : phi pile = 0 /\ (forall l n, In l pile -> layer_state_size l n 3) /\
  forall z0 ws zs, z0 < 4 -> In ws (parts [1]) -> In zs (tables 4 [1]) ->
    answer said pile (input Entry Start word z0 ws zs) = chain 4 z0 [1] ws zs.
Proof.
  split; [reflexivity|]. split.
  - intros l n Hl t _. destruct Hl as [<-|Hl].
    + exists (all_values 4). split; [apply (all_values_length 4)|]. intros xs _.
      apply (in_all_values 4), (carry_small 4 xs None I).
    + apply in_map_iff in Hl. destruct Hl as [j [<- _]].
      exists (all_values 4). split; [apply (all_values_length 4)|]. intros xs _.
      apply (in_all_values 4), (keep_small j xs None I).
  - assert (E : forallb (fun z0 => forallb (fun ws => forallb (fun zs =>
      answer said pile (input Entry Start word z0 ws zs) =? chain 4 z0 [1] ws zs) (tables 4 [1])) (parts [1])) (seq 0 4)
      = true) by (vm_compute; reflexivity).
    intros z0 ws zs Hz Hw Hzs. rewrite forallb_forall in E. specialize (E z0 ltac:(apply in_seq; lia)).
    rewrite forallb_forall in E. specialize (E ws Hw). rewrite forallb_forall in E. apply Nat.eqb_eq, E, Hzs.
Qed.
