"""The page Chat of the inspector, which pegboard-inspect shows.

Nothing here is imported before a board is inspected.

    page      what the page asks for: models, a question and its answer, the conversation of each browser
    watching  the same page for `pegboard chat --inspect`, which looks on the conversation at the terminal
    question  what a page may send, checked
    seen      what a page is told: events, and calls with their stages while somebody looks
    static    the page: an ES module and a style
"""
