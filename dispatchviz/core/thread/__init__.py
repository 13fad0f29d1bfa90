"""What a thread carries through a call: included and excluded keys, modes, and the guards that change them."""
