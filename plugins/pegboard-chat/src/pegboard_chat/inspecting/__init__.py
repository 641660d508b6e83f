"""The page Chat of the inspector, which pegboard-inspect shows. Nothing here is imported before a board is inspected.

page      what the page asks for: models, a question and its answer, the conversation of each browser
question  what a page may send, checked
watching  the conversation of `pegboard chat --inspect`, for pages that look on
seen      calls with their stages, while somebody looks
static    the page: an ES module and a style
"""
