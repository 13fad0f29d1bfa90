"""Questions about a tensor or a Node: its maker, savers, changes and uses; and the way from forward to backward and
back.
"""
