"""Whose a host is, as far as its name tells: `login.good.example` and `api.good.example` have one owner."""

from __future__ import annotations

from pegboard_confine.network import is_private

SHARED = frozenset(
    """
    amazonaws.com amplifyapp.com awsapprunner.com cloudfront.net elasticbeanstalk.com on.aws
    azure-api.net azurecontainer.io azurecontainerapps.io azureedge.net azurefd.net azurestaticapps.net
    azurewebsites.net cloudapp.azure.com cloudapp.net trafficmanager.net
    appspot.com cloudfunctions.net firebaseapp.com run.app web.app
    pages.dev trycloudflare.com workers.dev
    alwaysdata.net base44.app bolt.host codesandbox.io convex.app convex.site csb.app deno.dev deno.net
    edgeone.app fly.dev framer.app gitpod.io glitch.me herokuapp.com hf.space koyeb.app leapcell.app lovable.app
    modal.run netlify.app northflank.app ondigitalocean.app onrender.com pythonanywhere.com railway.app
    repl.co replit.app replit.dev stackblitz.io streamlit.app supabase.co surge.sh tiiny.site vercel.app val.run
    webcontainer.io zeabur.app
    github.dev github.io githubpreview.dev gitlab.io codeberg.page bitbucket.io readthedocs.io
    loca.lt localhost.run lhr.life ngrok-free.app ngrok-free.dev ngrok.app ngrok.dev ngrok.io ngrok.pizza pinggy.link
    serveo.net tailscale.net ts.net tunnelmole.net devtunnels.ms
    auth0.com b2clogin.com ciamlogin.com okta.com oktapreview.com
    okta-emea.com onelogin.com amazoncognito.com accounts.dev frontegg.com kinde.com
    logto.app customers.stytch.dev authkit.app zitadel.cloud
    afraid.org dedyn.io ddns.net dyndns.org duckdns.org dynu.net freeddns.org no-ip.org nip.io sslip.io xip.io
    blogspot.com myshopify.com notion.site wordpress.com wixsite.com
    """.split()  # noqa: SIM905 - one a line would be a page
)
"""Domains below which everybody may have a name: hosts of programs, tunnels, logins of others. The best known ones of
the public suffix list (publicsuffix.org, private domains), and of those that are not on it."""


def site_of(host: str) -> str:
    """The part of a name that one owner has: two labels, but `co.uk` and the like belong to no owner. Below what
    everybody may have a name, each host is one of its own."""
    labels = host.rstrip(".").lower().split(".")
    is_shared = any(".".join(labels[at:]) in SHARED for at in range(1, len(labels)))
    if is_private(host) or labels[-1].isdigit() or is_shared:
        return host
    is_of_country = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3 if is_of_country else -2 :])
