from __future__ import annotations

from datetime import UTC, datetime

import pytest
from jinja2.exceptions import SecurityError

from dragoman.core.errors import Code, InvalidRequest
from dragoman.dialects.environment import chat_environment
from dragoman.dialects.template import ChatTemplate
from support.conversations import conversation

NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)

ESCAPES = [
    "{{ ().__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ joiner.__init__.__globals__['os'].popen('id').read() }}",
    "{{ lipsum.__globals__ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ dict.mro() }}",
    "{{ ()['__class__'] }}",
    "{{ () | attr('__class__') }}",
    "{{ messages | attr('__' ~ 'class__') }}",
    "{{ [()] | map(attribute='__class__') | list }}",
    "{{ ['{0.__class__}'] | map('format', messages) | list }}",
    "{{ '{0.__class__}'.format(messages) }}",
    "{{ '{m.__class__}'.format_map({'m': messages}) }}",
    "{{ ('{0.__class__}' | attr('format'))(messages) }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ raise_exception.__globals__ }}",
    "{{ strftime_now.__self__ }}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{% extends '/etc/passwd' %}",
]
"""Peers I 127: known ways out of a template, by CVE-2024-34359, CVE-2024-56326, CVE-2025-27516, CVE-2026-5760 and in their spirit."""

CHANGES = ["{{ messages.clear() }}", "{{ messages[0].update({'role': 'system'}) }}", "{{ messages.insert(0, 1) }}"]


@pytest.mark.parametrize("source", [*ESCAPES, *CHANGES])
def test_a_way_out_of_the_sandbox_is_refused_as_the_templates_failure(source: str):
    template = ChatTemplate(source, bos_token="", eos_token="", specials=())
    with pytest.raises(InvalidRequest) as failure:
        template.render(conversation([{"role": "user", "content": "hi"}]), now=NOON)
    assert failure.value.code is Code.TEMPLATE_FAILED


def test_unsafe_access_is_named():
    with pytest.raises(SecurityError, match="'__class__' of a tuple is unsafe"):
        chat_environment().from_string("{{ ().__class__ }}").render()


def test_a_template_may_keep_a_list_of_its_own():
    source = "{% set queue = [] %}{% set _ = queue.append('a') %}{% set _ = queue.append('b') %}{{ queue.pop(0) }}{{ queue }}"
    template = chat_environment().from_string(source)
    assert [template.render(), template.render()] == ["a['b']", "a['b']"]
