"""Evals: does a model choose the right tool with the right arguments.

    critics       what one argument has to be; pure
    judge         the calls of a run against those that were expected; pure
    questions     a file into questions; everything that is wrong with it at once
    statistics    rates with honest intervals, and pairs compared
    running       asks the model, answers its calls, keeps what happened
    report        tables and JSON
    picture       the same as a picture, in a terminal and as SVG

Only `running` talks to anybody. A run is judged by the calls that the model asked for; whether they are carried out
as well is the file's choice.
"""
