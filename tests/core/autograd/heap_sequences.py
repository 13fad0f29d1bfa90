"""The order of equal priorities in the ``std::priority_queue`` of the GNU C++ library.

Each pair has pushes (a letter is a priority, ``a`` the lowest) and pops (a dot), and then the popped elements, numbered
in the order of their pushes. A C++ program printed them that runs random pushes and pops on ``std::priority_queue<T,
std::vector<T>, Less>``, where ``Less`` compares priorities only.
"""

SEQUENCES = (
    ("aa..a.aa..aa..a.aa..aa..a.aaaaa.a.a..a....", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 15 17 18 19 16 14 20"),
    ("b.b.a.aaa.aa..b.b..bbbb..b.bbbbb..bab.........", "0 1 2 3 4 6 8 9 5 10 11 13 12 17 18 19 20 22 14 16 15 21 7"),
    (
        "cacabcbcbbccaaaabccccbacacccbbacacccaa......................................",
        "0 2 27 5 25 26 11 23 34 7 10 19 20 17 18 35 31 33 29 6 28 8 9 21 4 16 30 1 22 24 37 14 15 36 3 32 13 12",
    ),
    ("bdcba..b.a.b..bb..a...baa.cc....dadad.....", "1 2 0 3 5 7 8 9 4 6 10 11 14 15 13 12 16 18 20 19 17"),
    (
        "aaaaaa.aaaa.aaaaa..aaaa.a.aaaaaaa.aaaa........................",
        "0 2 5 7 9 14 13 17 18 20 26 30 29 28 27 25 24 23 22 19 21 16 15 12 11 10 6 8 4 1 3",
    ),
    (
        "abbbaabbbaabaaababbbbababbbabaaabaabaa......................................",
        "1 2 6 28 11 25 26 35 24 3 19 22 20 7 8 18 17 15 32 14 30 29 9 21 12 27 13 23 33 5 37 4 0 34 16 36 10 31",
    ),
    ("bc.cca.b.b.c..a...b.abbc...acac.....ac..", "1 2 3 0 7 5 6 4 8 9 13 12 11 15 17 10 16 14 19 18"),
    (
        "bb..adcabc...adddc..bdbadc..c.aabdab.b................",
        "0 1 3 4 7 9 10 11 14 17 23 18 12 19 13 25 22 26 15 6 2 5 21 24 16 20 8",
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa......................................",
        "0 2 6 14 30 37 36 35 34 33 32 29 31 28 27 26 25 24 23 22 21 20 19 18 17 16 13 15 12 11 10 9 8 5 7 4 1 3",
    ),
    ("ab..a.babab.ab.ba...abb.a....b.aaa.b.b......", "1 0 2 3 5 9 10 7 13 14 11 4 15 16 6 20 21 8 19 18 12 17"),
    (
        "baabccacbabb.cca.cc..b..bbabccbccab.cc........................",
        "4 5 12 13 15 16 7 22 30 25 26 29 23 19 17 18 11 8 21 28 10 3 24 0 20 6 14 2 9 27 1",
    ),
    (
        "dcaaabbccaaccdaddbbdaddadddcabdccbbcaa......................................",
        "0 13 30 24 25 26 15 19 21 22 16 11 27 12 32 8 35 1 7 31 29 33 6 5 17 34 18 36 9 28 14 4 20 10 23 37 3 2",
    ),
    ("a.a.a.aaaa.a....aa..a.aaaaaa.a..a..a....", "0 1 2 3 5 6 4 7 8 9 10 11 13 16 17 15 18 14 12 19"),
    (
        "abaa.a.bbbabbbbbbabbabbba..babbaabb.ab............................",
        "1 2 5 7 16 13 14 32 29 30 6 11 12 26 25 21 23 20 19 9 10 17 22 15 4 31 24 8 3 28 18 27 0",
    ),
    (
        "accbcbacaaaababaaacaaaaacacacabbcccbbb......................................",
        "1 2 28 24 26 34 4 7 18 32 33 30 14 12 36 5 3 37 35 31 6 27 23 20 29 21 13 8 17 11 19 9 16 25 15 22 10 0",
    ),
    ("b.a.d.adbc..adcab....bb..d.bc.b.....c.", "0 1 2 4 6 8 9 11 5 12 13 14 16 15 17 3 10 7 18"),
    (
        "aaaa.aaaa..aaaa...aaaaaaaa.aaaa.aa.aa...................",
        "0 2 3 6 7 9 11 8 12 19 21 23 25 27 26 24 20 22 18 17 16 15 14 10 13 5 1 4",
    ),
    (
        "abaaaaaabaaabbbaabbbaaabaaabaabbbaaaba......................................",
        "1 12 13 14 30 27 23 8 19 17 18 36 31 32 37 3 34 24 11 25 21 20 9 33 7 6 28 35 26 2 15 4 29 5 16 22 10 0",
    ),
    ("c.bb.cab.ac....aab...cb.ba.a....c.bba...", "0 1 3 7 2 5 6 10 9 4 11 12 13 14 8 15 16 17 18 19"),
    (
        "dabbbaba.cb.dbac..db..cd.cbcbbc..cbaab....................",
        "0 8 10 13 14 15 17 16 18 20 23 24 21 22 19 25 2 6 11 4 3 28 9 1 5 7 12 27 26",
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa......................................",
        "0 2 6 14 30 37 36 35 34 33 32 29 31 28 27 26 25 24 23 22 21 20 19 18 17 16 13 15 12 11 10 9 8 5 7 4 1 3",
    ),
    ("aba..b.ba..bab....bb..bba...b.b.a.b.ab..", "1 0 3 4 2 6 8 5 7 9 10 11 12 13 14 15 16 17 19 18"),
    (
        "aababaac.aca.abbcccbb.ba...b.bcba..ac...................",
        "7 9 14 15 16 2 13 23 21 27 19 12 4 24 17 22 18 3 20 5 8 11 6 0 25 10 1 26",
    ),
    (
        "cddaaabccdbadccbcbcdcdcaaccdbaacddabdc......................................",
        "1 2 27 12 9 19 21 32 36 33 14 37 13 25 26 22 0 20 18 31 8 7 16 35 28 6 17 10 15 4 24 11 34 5 3 29 23 30",
    ),
)
