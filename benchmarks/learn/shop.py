"""`shootout learn` on a real shop, django-oscar: `make bench-learn-shop`; half an hour.

Its migrations and models make its database, and customers visit its pages. What MySQL logs meanwhile is
learned, compared with the log, and run on two servers. What the folder has is not made again.
"""

# needs: mvn

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from shootout.inputs import workload
from shootout.learn.measure import REPORT, WORKLOAD, LearnedWorkload, learn
from shootout.measure import dataset
from shootout.model.plan import DatasetSize
from shootout.servers import installations, instances, reference
from shootout.servers.instances import Instance
from tests.measure import dumps

SERVER, HEAD = "mysql-8.0.33", "mariadb-11.8"
PACKAGES = ("Django==5.2.19", "django-oscar==4.2.1", "PyMySQL==1.2.4", "sorl-thumbnail==13.4.0")
OPTIONS = {"character-set-server": "utf8mb4", "innodb-flush-log-at-trx-commit": "2"}
LOGGED = ("log_slow_extra = ON", "long_query_time = 0", "slow_query_log = ON")
FEW = 0.002  # share of the log below which a statement is not printed

# The project that makes a shop of django-oscar, as its documentation has it.
SETTINGS = """\
import os

import pymysql

pymysql.version_info = (2, 2, 1, "final", 0)  # of the mysqlclient that Django asks for
pymysql.install_as_MySQLdb()

from oscar import INSTALLED_APPS
from oscar.defaults import *

INSTALLED_APPS = [*INSTALLED_APPS, "sorl.thumbnail"]
THUMBNAIL_DUMMY = True  # no product has a picture

SECRET_KEY = "none"
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["*"]
SITE_ID = 1
STATIC_URL, MEDIA_URL = "/static/", "/media/"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # others cost the client only
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
OSCAR_INITIAL_ORDER_STATUS, OSCAR_ORDER_STATUS_PIPELINE = "new", {"new": ()}
OSCAR_INITIAL_LINE_STATUS, OSCAR_LINE_STATUS_PIPELINE = "new", {"new": ()}
LOGGING = {"version": 1, "root": {"level": "ERROR"}}
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": os.environ["SHOP_DATABASE"],
        "USER": "root",
        "PASSWORD": os.environ["SHOP_PASSWORD"],
        "HOST": os.environ["SHOP_SOCKET"],
        "ATOMIC_REQUESTS": True,
        "OPTIONS": {"charset": "utf8mb4"},
    }
}
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ]
        },
    }
]
"""
URLS = """\
from django.apps import apps
from django.urls import include, path

shop = apps.get_app_config("oscar")
urlpatterns = [path("i18n/", include("django.conf.urls.i18n")), path("", include(shop.urls[0]))]
"""
FILL = """\
import random
import string
from decimal import Decimal

import django

django.setup()

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from oscar.apps.address.models import Country
from oscar.apps.catalogue.models import (
    Category, Product, ProductCategory, ProductClass, ProductRecommendation
)
from oscar.apps.catalogue.reviews.models import ProductReview
from oscar.apps.offer.models import Benefit, Condition, ConditionalOffer, Range
from oscar.apps.partner.models import Partner, StockRecord

call_command("migrate", verbosity=0)
Category.set_ancestors_are_public = lambda self: None  # MySQL refuses this UPDATE; all are public as it is
drawn = random.Random(7)
WORDS = ["".join(drawn.choices(string.ascii_lowercase, k=drawn.randint(3, 9))) for _ in range(600)]


def words(count):
    return " ".join(drawn.choices(WORDS, k=count))


leaves = []
for _ in range(12):
    root = Category.add_root(name=words(1).title())
    for _ in range(drawn.randint(3, 15)):
        leaves.append(root.add_child(name=words(2).title(), description=words(30)))
kinds = [ProductClass.objects.create(name=name) for name in ("Book", "Record", "Poster")]
partners = [Partner.objects.create(name=words(2)) for _ in range(5)]
products = []
for number in range(1500):
    product = Product.objects.create(
        title=words(3).title(), upc=f"{number:08}", product_class=drawn.choice(kinds), description=words(60)
    )
    products.append(product)
    for leaf in drawn.sample(leaves, drawn.choice((1, 1, 2))):
        ProductCategory.objects.create(product=product, category=leaf)
    StockRecord.objects.create(
        product=product,
        partner=drawn.choice(partners),
        partner_sku=f"sku-{number}",
        price=Decimal(drawn.randint(300, 9000)) / 100,
        num_in_stock=100_000,
    )
for product in products[::4]:
    for rank, other in enumerate(drawn.sample(products, 3)):
        ProductRecommendation.objects.create(primary=product, recommendation=other, ranking=rank)
secret = make_password("correct horse")
for n in range(800):
    names = {"first_name": words(1), "last_name": words(1)}
    User.objects.create(username=f"user{n}", email=f"user{n}@example.com", password=secret, **names)
people = list(User.objects.all())
pairs = {(drawn.choice(products).id, drawn.choice(people).id) for _ in range(3000)}
for product, user in sorted(pairs):
    ProductReview.objects.create(
        product_id=product, user_id=user, score=drawn.randint(1, 5), title=words(3), body=words(25), status=1
    )
Country.objects.create(
    iso_3166_1_a2="GB", iso_3166_1_a3="GBR", iso_3166_1_numeric="826", printable_name="United Kingdom",
    name="United Kingdom", is_shipping_country=True,
)
cheap = Range.objects.create(name="Some", includes_all_products=False)
for product in products[::10]:
    cheap.add_product(product)
ConditionalOffer.objects.create(
    name="Two of some",
    condition=Condition.objects.create(range=cheap, type="Count", value=2),
    benefit=Benefit.objects.create(range=cheap, type="Percentage", value=10),
)
"""
VISIT = '''\
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import django

django.setup()

from django.contrib.auth.models import User
from django.test import Client
from oscar.apps.catalogue.models import Category, Product

ADDRESS = {"first_name": "Ann", "last_name": "Other", "line1": "1 Road", "line4": "Town"}
ADDRESS |= {"postcode": "N1 9RT", "country": "GB"}
THREADS, FIRST, END = map(int, sys.argv[1:])
CATEGORIES, PRODUCTS = list(Category.objects.all()), list(Product.objects.all())
PEOPLE = list(User.objects.order_by("id").values_list("email", flat=True))


def visit(number, pages):
    """A customer looks around, perhaps logs in or registers, fills a basket, and orders."""
    drawn = random.Random(number)
    client = Client()

    def page(path, data=None):
        answer = client.get(path) if data is None else client.post(path, data)
        assert answer.status_code in (200, 302), (path, answer.status_code)
        assert data is None or answer.status_code == 302, (path, answer.content.decode()[-3000:])
        pages.append(path)

    page("/catalogue/")
    known = drawn.random() < 0.4
    if known:
        account = {"username": PEOPLE[int(len(PEOPLE) * drawn.random() ** 2)], "password": "correct horse"}
        page("/accounts/login/")
        page("/accounts/login/", {"login_submit": ""} | {f"login-{name}": account[name] for name in account})
    elif drawn.random() < 0.1:
        known, secret = True, "Correct-horse-7"
        account = {"email": f"new{number}@example.com", "password1": secret, "password2": secret}
        page("/accounts/register/")
        page("/accounts/register/", account)
    for _ in range(drawn.randint(1, 6)):
        if drawn.random() < 0.2:
            word = drawn.choice(PRODUCTS).title.split()[0]
            page(f"/search/?q={word}")
        else:
            page(drawn.choice(CATEGORIES).get_absolute_url() + drawn.choice(("", "", "?page=1")))
        product = PRODUCTS[int(len(PRODUCTS) * drawn.random() ** 3)]
        page(product.get_absolute_url())
        if drawn.random() < 0.2:
            page(f"{product.get_absolute_url()}reviews/")
        if drawn.random() < 0.4:
            page(f"/basket/add/{product.id}/", {"quantity": drawn.randint(1, 3)})
            page("/basket/")
            if known and drawn.random() < 0.5:
                page("/checkout/")
                page("/checkout/shipping-address/")
                page("/checkout/shipping-address/", ADDRESS)
                for step in ("shipping-method", "payment-method", "payment-details", "preview"):
                    page(f"/checkout/{step}/")
                page("/checkout/preview/", {"action": "place_order"})
                page("/checkout/thank-you/")
                page("/accounts/orders/")


def customers(thread):
    pages = []
    for number in range(FIRST + thread, END, THREADS):
        visit(number, pages)
    return len(pages)


with ThreadPoolExecutor(THREADS) as pool:
    print(sum(pool.map(customers, range(THREADS))))
'''


def main() -> None:
    """Make what is missing, and print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("reports/bench-learn-shop"))
    parser.add_argument("--threads", type=int, default=4, help="that visit the shop")
    parser.add_argument("--visits", type=int, default=240, help="of some fifteen pages; half as many before")
    parser.add_argument("--budget", type=float, default=3.0, metavar="MIN", help="of the run")
    args = parser.parse_args()
    out: Path = args.out.absolute()
    dump, log, learned = out / "shop.sql", out / "slow.log", out / "learned"
    verdict = out / "run" / "verdict.md"
    steps: tuple[tuple[Path, Callable[[], object]], ...] = (
        (out / "site", lambda: install(out)),
        (dump, lambda: fill(out, dump, args.threads, args.visits // 2)),
        (log, lambda: visit(out, dump, log, args.threads, args.visits)),
        (
            learned / REPORT,
            lambda: learn(
                dump, [log], learned, reference.parse(SERVER), keep=False, invent=False, observe=say
            ),
        ),
        (verdict, lambda: run(learned, verdict, args.budget)),
    )
    for result, step in steps:
        if not result.exists():
            say(f"making {result}")
            step()
    show(msgspec.json.decode((learned / REPORT).read_bytes(), type=LearnedWorkload))
    print(f"\n{verdict.read_text('utf-8')}")


def say(step: str) -> None:
    print(step, file=sys.stderr)


def install(out: Path) -> None:
    """The shop's packages, and its project."""
    venv.create(out / "venv", clear=True, with_pip=True)
    subprocess.run([out / "venv" / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)
    (out / "site").mkdir()
    for name, text in {"settings": SETTINGS, "urls": URLS, "fill": FILL, "visit": VISIT}.items():
        (out / "site" / f"{name}.py").write_text(text, "utf-8")


@contextmanager
def server() -> Iterator[Instance]:
    """An empty server for a while."""
    with ExitStack() as held:
        tree = installations.find(reference.parse(SERVER), held)
        home = Path(held.enter_context(tempfile.TemporaryDirectory())) / "home"
        instances.initialise(tree, home, OPTIONS)
        yield held.enter_context(instances.start(tree, home, OPTIONS))


def within(out: Path, instance: Instance, database: str, script: str, *numbers: int) -> None:
    """Run a script of the shop."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "settings",
        "PYTHONPATH": str(out / "site"),
        "PYTHONWARNINGS": "ignore",
        "SHOP_DATABASE": database,
        "SHOP_SOCKET": str(instance.socket),
        "SHOP_PASSWORD": instance.password,
    }
    command = [str(out / "venv" / "bin" / "python"), str(out / "site" / f"{script}.py"), *map(str, numbers)]
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr)


def fill(out: Path, dump: Path, threads: int, visits: int) -> None:
    """The shop's rows, and what first customers leave, as a dump."""
    with server() as instance:
        instance.query("CREATE DATABASE shop")
        within(out, instance, "shop", "fill")
        within(out, instance, "shop", "visit", threads, 0, visits)
        dumps.write(instance, "shop", dump.with_suffix(".part")).rename(dump)


def visit(out: Path, dump: Path, log: Path, threads: int, visits: int) -> None:
    """What the server logs while customers visit the shop as it was dumped."""
    loaded = workload.dump_dataset(dump, DatasetSize())
    part = log.with_suffix(".part")
    part.unlink(missing_ok=True)
    with server() as instance:
        dataset.load(instance, loaded)
        for setting in (f"slow_query_log_file = '{part}'", *LOGGED):
            instance.query(f"SET GLOBAL {setting}")
        database = dataset.schema_of(instance, loaded)
        within(out, instance, database, "visit", threads, visits, 2 * visits)
        instance.query("SET GLOBAL slow_query_log = OFF")
    part.rename(log)


def run(learned: Path, verdict: Path, budget_min: float) -> None:
    """Compare two servers under the learned workload."""
    command = [sys.executable, "-m", "shootout.cli", "gate", f"--base={SERVER}", f"--head={HEAD}"]
    command += [f"--workloads={learned / WORKLOAD}", "--threads=4"]
    command += [f"--budget={budget_min:g}", f"--out={verdict.parent}"]
    part = verdict.with_suffix(".part")
    done = subprocess.run([*command, f"--markdown={part}"], check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"the gate ended with {done.returncode}")
    part.rename(verdict)


def show(outcome: LearnedWorkload) -> None:
    """Print what was learned, and how faithful it is."""
    learned, fidelity = outcome.learned, outcome.fidelity
    sequences = f"{learned.transactions} in {learned.kinds} kinds that are sent"
    whole = sum(statement.count for statement in learned.statements)
    _table(
        ("rows in the dump", "statements", "templates", "transactions", "not parsed", "score"),
        [(
            sum(learned.rows.values()), whole, len(learned.statements), sequences,
            sum(bool(statement.problem) for statement in learned.statements), f"{100 * fidelity.score:.1f} %",
        )],
    )  # fmt: skip
    _table(
        ("left out", "statements", "share", "of the kind"),
        [(left.reason, left.statements, f"{left.statements / whole:.2%}", left.example.replace("`", "")[:80])
         for left in learned.left_out],
    )  # fmt: skip
    _table(
        ("statement", "in the log", "sent", "rows examined", "sent", "rows returned", "sent", "faithful"),
        [(pair.name, f"{pair.share:.2%}", f"{pair.sent_share:.2%}", *map(_mean, (
            pair.examined, pair.sent_examined, pair.returned, pair.sent_returned
         )), "yes" if pair.faithful else "no")
         for pair in fidelity.statements if pair.share >= FEW],
    )  # fmt: skip


def _mean(rows: float | None) -> str:
    return "" if rows is None else f"{rows:.1f}"


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
