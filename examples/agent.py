"""An agent with memory in a few lines. The model is played by two lines of Python, so that it runs anywhere."""

from memslot import Host

PROMPT = "Which database does billing use, and who owns the payment gateway?"

with Host.load() as host, host.run(PROMPT) as run:
    print(f"memory: {host.memory_owner}, tools: {', '.join(tool.name for tool in run.tools)}\n")
    print(f"What the model sees before the prompt:\n{run.context}\n")

    # A real agent sends run.system_prompt, run.prompt and the tools to its model …
    tools_for_the_model = [tool.to_openai() for tool in run.tools]
    assert tools_for_the_model, "the memory slot is empty"

    # … and calls what the model asks for:
    result = run.call_tool("memory_search", {"query": "payment gateway retries", "maxResults": 1})
    print(f"The model calls memory_search:\n{result.text}\n")

    answer = "Billing uses PostgreSQL 16; Tomás owns the payment gateway."
    run.finish([{"role": "user", "content": PROMPT}, {"role": "assistant", "content": answer}])
    print(f"The agent says: {answer}")
