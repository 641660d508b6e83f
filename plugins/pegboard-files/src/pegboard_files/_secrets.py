"""Files that hold keys and passwords by the names that programs give them, as a table. No file is touched here.

They are denied at any depth below a root, in any case, unless `deny_secrets` is switched off. A name in the table is
that of a file, or of a folder with everything in it. The list is a net and no wall: a secret under another name is read
like any file.

Sources: the manuals of OpenSSH, GnuPG, git, npm, pip, curl, PostgreSQL, MySQL, Docker, Kubernetes, AWS, Google Cloud,
Azure, GitHub's `gh`, cargo, RubyGems and Terraform; GitHub's `.gitignore` templates.
"""

from __future__ import annotations

import re

SECRETS = (
    ".env", ".env.*", ".env~", ".envrc",
    ".ssh", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.ppk",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    ".gnupg", ".password-store", ".vault-token",
    ".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml",
    ".npmrc", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".aws/credentials", ".azure", ".config/gcloud", ".kube/config", ".docker/config.json", ".boto", ".s3cfg",
    ".terraform.d/credentials.tfrc.json", ".terraformrc",
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd",
)  # fmt: skip
"""`*` stands for any part of a name; a slash for the folder that the name has to lie in."""
NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")
"""Names that fit and are made to be shown."""


def _either(patterns: tuple[str, ...]) -> str:
    return "|".join(re.escape(pattern).replace(r"\*", "[^/]*") for pattern in patterns)


_PATTERN = re.compile(rf"(?:^|/)(?!(?:{_either(NO_SECRETS)})(?:/|\Z))(?:{_either(SECRETS)})(?:/|\Z)", re.IGNORECASE)


def is_secret(path: str) -> bool:
    """Whether a path below a root, or a folder in it, is one of the table."""
    return _PATTERN.search(path) is not None
