# Is the number of ones even?  From the last digit to the first, then the answer on the blank before the word.
even0 _ -> even _ left
even 0 -> even 0 left
even 1 -> odd 1 left
odd 0 -> odd 0 left
odd 1 -> even 1 left
even _ -> halt 1 stay
odd _ -> halt 0 stay
