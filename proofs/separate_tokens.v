(** Keys and values in different tokens, one full layer, one query: what the value tokens
    tell must determine all n values, for they do not know which one is asked for. *)
From Coq Require Import List Arith Lia Bool PeanoNat.
Import ListNotations.
From Limen Require Import counting.

(** The value side sends [msg v] (values v), the key side holds the permutation /
    placement; [keyside i] is everything the key tokens contribute when the queried
    key stands at slot i.  The referee merges them arbitrarily. *)
Theorem separate_tokens {Msg Key} (n V : nat) (msg : list nat -> Msg) (keyside : nat -> Key)
    (referee : Msg -> Key -> nat) (Ks : list Msg) :
  (forall v, In v (nwords n V) -> In (msg v) Ks) ->
  (forall v i, In v (nwords n V) -> i < n -> referee (msg v) (keyside i) = nth i v 0) ->
  V ^ n <= length Ks.
Proof.
  intros HK Hc. rewrite <- nwords_length. apply (pigeon msg); auto using nwords_NoDup.
  intros u v Hu Hv E. pose proof Hu as Hu'. pose proof Hv as Hv'.
  apply in_nwords in Hu', Hv'. apply (nth_ext_on 0 u v n); [tauto|tauto|].
  intros i Hi. rewrite <- !Hc, E; auto.
Qed.
