# The formula of a tap. `brew update-python-resources tokctl` adds the packages that tokctl needs, and
# a release its own address and checksum.
class Tokctl < Formula
  include Language::Python::Virtualenv

  desc "Train, run, inspect and compare subword tokenizers"
  homepage "https://pypi.org/project/tokctl/"
  url "https://files.pythonhosted.org/packages/source/t/tokctl/tokctl-0.1.0.tar.gz"
  sha256 "TO BE FILLED IN BY THE RELEASE"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "python@3.14"

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"tokctl", "completion")
  end

  test do
    assert_match "unigram", shell_output("#{bin}/tokctl compare --vocab 1000")
  end
end
